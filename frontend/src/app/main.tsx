import './theme.css';
import './mantine.css';
import { createRoot } from 'react-dom/client';
import { queryClient, sessionOptions } from '@/api/hub';
import { App } from './App';
import { preload } from './routes';

// What the first paint waits for starts now, side by side.
void queryClient.prefetchQuery(sessionOptions);
preload(location.pathname);

const root = document.getElementById('root');
if (!root) throw new Error('index.html lacks #root');
createRoot(root).render(<App />);
