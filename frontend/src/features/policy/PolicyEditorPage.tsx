export default function PolicyEditorPage({ resource }: { resource: string; namespace?: string; name?: string }) { return <h1>{resource}</h1>; }
