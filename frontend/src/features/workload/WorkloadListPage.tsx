/** What runs where: every template that a policy carries, with its state in each cluster. */
export default function WorkloadListPage() {
  return <div className="page" />;
}
