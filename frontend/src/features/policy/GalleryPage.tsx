export default function GalleryPage() { return <div className="page" />; }
