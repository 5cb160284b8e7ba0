export default function PolicyListPage() { return <div className="page" />; }
