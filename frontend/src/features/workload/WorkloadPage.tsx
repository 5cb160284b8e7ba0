interface WorkloadPageProps {
  /** "core" for the group without a name. */
  group: string;
  version: string;
  kind: string;
  /** "-" for what has no namespace. */
  namespace: string;
  name: string;
}

/** One workload: where does it run, and if it does not, why? */
export default function WorkloadPage({ name }: WorkloadPageProps) {
  return <div className="page"><h1>{name}</h1></div>;
}
