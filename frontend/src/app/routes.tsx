import { Suspense } from 'react';
import { Redirect, Route, Switch } from 'wouter';
import { useCarries } from '@/api/dialects';
import { useWords } from '@/shared/hooks/useWords';
import { part } from '@/shared/part';
import { Empty } from '@/shared/ui/Empty';
import { Placeholder } from '@/shared/ui/Placeholder';
import { FleetTabs } from './FleetTabs';
import { paths, patterns } from './paths';
import { WaitingTabs } from './WaitingTabs';
import { appWords } from './words';

const clusterListPage = () => import('@/features/cluster/ClusterListPage');
const ClusterListPage = part(clusterListPage);
const ClusterPage = part(() => import('@/features/cluster/ClusterPage'));
const ManagedListPage = part(() => import('@/features/managedcluster/ManagedListPage'));
const ManagedPage = part(() => import('@/features/managedcluster/ManagedPage'));
const SetListPage = part(() => import('@/features/placement/SetListPage'));
const PlacementListPage = part(() => import('@/features/placement/PlacementListPage'));
const PlacementPage = part(() => import('@/features/placement/PlacementPage'));
const OperatorPage = part(() => import('@/features/operator/OperatorPage'));
const WorkloadListPage = part(() => import('@/features/workload/WorkloadListPage'));
const NewWorkloadPage = part(() => import('@/features/workload/author/NewWorkloadPage'));
const EditWorkloadPage = part(() => import('@/features/workload/author/EditWorkloadPage'));
const WorkloadPage = part(() => import('@/features/workload/WorkloadPage'));
const PolicyListPage = part(() => import('@/features/policy/PolicyListPage'));
const PolicyPage = part(() => import('@/features/policy/PolicyPage'));
const PolicyEditorPage = part(() => import('@/features/policy/PolicyEditorPage'));
const GalleryPage = part(() => import('@/features/policy/GalleryPage'));
const AddClusterPage = part(() => import('@/features/registration/AddClusterPage'));
const RegistrationPage = part(() => import('@/features/registration/RegistrationPage'));
const JoiningPage = part(() => import('@/features/registration/WaitingPage'));
const WaitingRoomPage = part(() => import('@/features/consent/WaitingRoomPage'));
const RuleListPage = part(() => import('@/features/consent/RuleListPage'));
const IntroducePage = part(() => import('@/features/consent/IntroducePage'));
const IntroducedPage = part(() => import('@/features/consent/IntroducedPage'));
const TokenListPage = part(() => import('@/features/token/TokenListPage'));
const AuditPage = part(() => import('@/features/audit/AuditPage'));
const UserListPage = part(() => import('@/features/user/UserListPage'));
const SessionListPage = part(() => import('@/features/session/SessionListPage'));
const SettingsPage = part(() => import('@/features/setting/SettingsPage'));

// Types, not interfaces: the router takes records.
type WorkloadAddress = { group: string; version: string; kind: string; namespace: string; name: string };
type PlacementAddress = { namespace: string; name: string };
type PolicyAddress = { resource: string; namespace: string; name: string };

/** Loads the page that most visits begin with while the session is still being asked for. */
export function preload(path: string): void {
  if (path === '/' || path === patterns.clusters) void clusterListPage();
}

export function Routes() {
  const home = useCarries('karmada') ? paths.clusters() : paths.managedClusters();
  return (
    <Suspense fallback={<Placeholder rows={8} />}>
      <Switch>
        <Route path="/"><Redirect to={home} replace /></Route>
        <Route path={patterns.clusters}>{home === paths.clusters() ? <ClusterListPage tabs={<FleetTabs />} /> : <Redirect to={home} replace />}</Route>
        <Route<{ name: string }> path={patterns.cluster}>{({ name }) => <ClusterPage key={name} name={name} />}</Route>
        <Route path={patterns.managedClusters}><ManagedListPage tabs={<FleetTabs />} /></Route>
        <Route<{ name: string }> path={patterns.managedCluster}>{({ name }) => <ManagedPage key={name} name={name} />}</Route>
        <Route path={patterns.clusterSets} component={SetListPage} />
        <Route path={patterns.placements} component={PlacementListPage} />
        <Route<PlacementAddress> path={patterns.placement}>{(at) => <PlacementPage key={Object.values(at).join('/')} {...at} />}</Route>
        <Route path={patterns.operators} component={OperatorPage} />
        <Route path={patterns.addCluster}>{home === paths.clusters() ? <AddClusterPage /> : <Redirect to={paths.introduceCluster()} replace />}</Route>
        <Route path={patterns.workloads} component={WorkloadListPage} />
        <Route path={patterns.newWorkload} component={NewWorkloadPage} />
        <Route<WorkloadAddress> path={patterns.editWorkload}>{(at) => <EditWorkloadPage key={Object.values(at).join('/')} {...at} />}</Route>
        <Route<WorkloadAddress> path={patterns.workload}>{(at) => <WorkloadPage key={Object.values(at).join('/')} {...at} />}</Route>
        <Route path={patterns.policies} component={PolicyListPage} />
        <Route path={patterns.policyGallery} component={GalleryPage} />
        <Route<{ resource: string }> path={patterns.newPolicy}>{({ resource }) => <PolicyEditorPage key={resource} resource={resource} />}</Route>
        <Route<PolicyAddress> path={patterns.policy}>{(at) => <PolicyPage key={Object.values(at).join('/')} {...at} />}</Route>
        <Route<PolicyAddress> path={patterns.editPolicy}>{(at) => <PolicyEditorPage key={Object.values(at).join('/')} {...at} />}</Route>
        <Route path={patterns.introduceCluster} component={IntroducePage} />
        <Route<{ cluster: string }> path={patterns.introduced}>{({ cluster }) => <IntroducedPage key={cluster} cluster={cluster} />}</Route>
        <Route path={patterns.waiting}><WaitingRoomPage tabs={<WaitingTabs />} /></Route>
        <Route path={patterns.joining}><JoiningPage tabs={<WaitingTabs />} /></Route>
        <Route path={patterns.approvalRules}><RuleListPage tabs={<WaitingTabs />} /></Route>
        <Route<{ id: string }> path={patterns.registration}>{({ id }) => <RegistrationPage key={id} id={id} />}</Route>
        <Route path={patterns.tokens} component={TokenListPage} />
        <Route path={patterns.audit} component={AuditPage} />
        <Route path={patterns.users} component={UserListPage} />
        <Route path={patterns.sessions} component={SessionListPage} />
        <Route path={patterns.settings} component={SettingsPage} />
        <Route><NoPage /></Route>
      </Switch>
    </Suspense>
  );
}

function NoPage() {
  const words = useWords(appWords);
  return <Empty page title={words.noPage} action={<a href={paths.clusters()}>{words.clusters}</a>}>{words.noPageText}</Empty>;
}
