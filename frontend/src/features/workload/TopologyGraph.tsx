import '@xyflow/react/dist/base.css';
import { ActionIcon } from '@mantine/core';
import IconFocus2 from '@tabler/icons-react/dist/esm/icons/IconFocus2.mjs';
import IconMaximize from '@tabler/icons-react/dist/esm/icons/IconMaximize.mjs';
import IconMinus from '@tabler/icons-react/dist/esm/icons/IconMinus.mjs';
import IconPlus from '@tabler/icons-react/dist/esm/icons/IconPlus.mjs';
import { type BuiltInEdge, Handle, type Node, type NodeProps, Panel, Position, ReactFlow, type ReactFlowInstance, useReactFlow } from '@xyflow/react';
import { type ComponentType, memo, useMemo } from 'react';
import { aboutCluster, factWords } from '@/api/facts';
import { useWords } from '@/shared/hooks/useWords';
import { StateMark } from '@/shared/ui/StateMark';
import { type Hop, type Placed, size } from './layout';
import { hopTones } from './state';
import styles from './TopologyGraph.module.css';
import { workloadWords } from './words';

type HopNode = Node<{ hop: Hop; broken: boolean; chosen: boolean }, 'hop'>;
type Flow = ReactFlowInstance<HopNode, BuiltInEdge>;

/** Below this size of a hop its words cannot be read: rather show a part. */
const readable = 0.7;
const margin = 24;
const controls = 56;
/** From so many hops on, only those in sight are drawn. */
const manyHops = 80;
const nodeTypes = { hop: memo(HopCard) };
const handles = [
  { type: 'target' as const, position: Position.Left, x: 0, y: size.height / 2, width: 1, height: 1 },
  { type: 'source' as const, position: Position.Right, x: size.width, y: size.height / 2, width: 1, height: 1 },
];

interface TopologyGraphProps {
  placed: Placed;
  broken: string | undefined;
  chosen: string | undefined;
  label: string;
  onChoose: (id: string) => void;
}

/** The topology as a graph to pan and zoom; a click or Enter chooses a hop. */
export default function TopologyGraph({ placed, broken, chosen, label, onChoose }: TopologyGraphProps) {
  const words = useWords(workloadWords);
  const said = useWords(factWords);
  const nodes = useMemo(() => placed.hops.map((hop): HopNode => ({
    id: hop.id, type: 'hop', position: placed.at[hop.id] ?? { x: 0, y: 0 }, width: size.width, height: size.height, handles,
    data: { hop, broken: hop.id === broken, chosen: hop.id === chosen }, selected: hop.id === chosen,
    ariaLabel: [words.hops[hop.kind], hop.folded ? words.foldedHop(hop.folded.length) : hop.label, hop.cluster, words.hopStates[hop.state], hop.reason && aboutCluster(said, hop.reason, hop.cluster)].filter(Boolean).join(', '),
  })), [placed, broken, chosen, words, said]);
  const edges = useMemo(() => {
    const states = new Map(placed.hops.map((hop) => [hop.id, hop.state]));
    return placed.edges.map((edge): BuiltInEdge => {
      const state = states.get(edge.to);
      return { id: `${edge.from} ${edge.to}`, domAttributes: { 'aria-hidden': true }, type: 'smoothstep', pathOptions: { offset: size.gapX / 3, borderRadius: 6 }, source: edge.from, target: edge.to, className: state === 'failed' ? styles['cut'] : state === 'missing' || state === 'pending' ? styles['wait'] : undefined };
    });
  }, [placed]);
  return (
    <div className={styles['frame']} style={{ height: `clamp(220px, ${placed.height + margin + controls}px, max(320px, 62vh))` }}>
      <ReactFlow
        aria-label={label} nodes={nodes} edges={edges} nodeTypes={nodeTypes} onInit={(graph) => show(graph, placed, broken)}
        minZoom={0.2} maxZoom={1.5} zoomOnScroll={false} preventScrolling={false} zoomOnDoubleClick={false}
        nodesDraggable={false} nodesConnectable={false} edgesFocusable={false} deleteKeyCode={null} selectionKeyCode={null} multiSelectionKeyCode={null}
        onlyRenderVisibleElements={placed.hops.length > manyHops} onNodeClick={(_, node) => onChoose(node.id)}
        onNodesChange={(changes) => { for (const change of changes) if (change.type === 'select' && change.selected) onChoose(change.id); }}
        ariaLabelConfig={{ 'node.a11yDescription.default': words.graphHop, 'node.a11yDescription.keyboardDisabled': words.graphHop, 'edge.a11yDescription.default': '' }}
      >
        <Tools placed={placed} broken={broken} />
      </ReactFlow>
    </div>
  );
}

/** Room for the controls below what is shown. */
const padding = { top: `${margin}px`, left: `${margin}px`, right: `${margin}px`, bottom: `${controls}px` } as const;

/** Shows everything while it can be read; else the beginning, where the broken hop is; in a narrow frame that hop itself. */
function show(graph: Flow, placed: Placed, broken: string | undefined): void {
  const { width, height } = room(placed);
  const zoom = Math.min(1, width / placed.width);
  if (Math.min(zoom, height / placed.height) >= readable) void graph.fitView({ padding, maxZoom: 1 });
  else if (zoom < readable && broken) toHop(graph, placed, broken);
  else void graph.setViewport({ x: margin + Math.max(0, width - placed.width * zoom) / 2, y: margin, zoom: Math.max(readable, zoom) });
}

/** What the frame has to show hops in, without margins and controls. */
function room(placed: Placed): { width: number; height: number } {
  const frame = document.querySelector(`.${styles['frame']}`);
  return { width: (frame?.clientWidth ?? placed.width) - 2 * margin, height: (frame?.clientHeight ?? placed.height) - margin - controls };
}

/** Brings a hop into the middle; upwards only where the graph is higher than the frame. */
function toHop(graph: Flow, placed: Placed, id: string, duration = 0): void {
  const at = placed.at[id];
  if (!at) return;
  const { width, height } = room(placed);
  const y = placed.height <= height ? (height - placed.height) / 2 : Math.min(0, height / 2 - at.y - size.height / 2);
  void graph.setViewport({ x: margin + width / 2 - at.x - size.width / 2, y: margin + y, zoom: 1 }, { duration });
}

function Tools({ placed, broken }: { placed: Placed; broken: string | undefined }) {
  const words = useWords(workloadWords);
  const graph = useReactFlow<HopNode, BuiltInEdge>();
  return (
    <Panel position="bottom-left" className={styles['tools']} role="group" aria-label={words.controls}>
      {broken && <Tool label={words.toBroken} icon={IconFocus2} onClick={() => toHop(graph, placed, broken, 120)} />}
      <Tool label={words.fit} icon={IconMaximize} onClick={() => void graph.fitView({ padding, maxZoom: 1, duration: 120 })} />
      <Tool label={words.zoomOut} icon={IconMinus} onClick={() => void graph.zoomOut({ duration: 120 })} />
      <Tool label={words.zoomIn} icon={IconPlus} onClick={() => void graph.zoomIn({ duration: 120 })} />
    </Panel>
  );
}

function Tool({ label, icon: Icon, onClick }: { label: string; icon: ComponentType<{ size?: number }>; onClick: () => void }) {
  return <ActionIcon variant="default" aria-label={label} title={label} onClick={onClick}><Icon size={16} /></ActionIcon>;
}

function HopCard({ data: { hop, broken, chosen } }: NodeProps<HopNode>) {
  const words = useWords(workloadWords);
  const said = useWords(factWords);
  const reason = hop.reason && aboutCluster(said, hop.reason, hop.cluster);
  const label = hop.folded ? words.foldedHop(hop.folded.length) : hop.label;
  return (
    <div className={styles['hop']} data-state={hop.state} data-broken={broken || undefined} data-chosen={chosen || undefined} data-folded={hop.folded ? true : undefined} title={[label, reason].filter(Boolean).join('\n')}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <span className={styles['kind']}><span>{words.hops[hop.kind]}</span><StateMark tone={hopTones[hop.state]}>{words.hopStates[hop.state]}</StateMark></span>
      <span className={styles['label']}>{label || '–'}</span>
      <span className={styles['reason']}>{reason || hop.cluster || hop.ref?.kind}</span>
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
}
