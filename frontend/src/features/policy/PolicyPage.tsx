export default function PolicyPage({ name }: { resource: string; namespace: string; name: string }) { return <h1>{name}</h1>; }
