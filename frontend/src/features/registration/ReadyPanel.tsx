import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { useFollow } from '@/api/hub';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { StateMark } from '@/shared/ui/StateMark';
import { clusterOf } from './queries';
import styles from './RegistrationPage.module.css';
import { registrationWords } from './words';

/** The end of both ways: what the cluster answered through the path just made, and what one does next. */
export function ReadyPanel({ name }: { name: string }) {
  const words = useWords(registrationWords);
  useFollow('clusters');
  const { data: cluster } = useQuery(clusterOf(name));
  return (
    <section className={styles['ready']} role="status">
      <h2><StateMark tone="ok" />{words.readyTitle(name)}</h2>
      <p>{cluster?.nodes && cluster.version ? words.readyText(words.nodes(cluster.nodes.total), cluster.version) : words.readyPlain}</p>
      <div className={styles['links']}>
        <Button component={Link} href={paths.cluster(name)}>{words.open(name)}</Button>
        <Button variant="default" component={Link} href={paths.addCluster()}>{words.another}</Button>
        <Button variant="default" component={Link} href={paths.policyGallery()}>{words.policy}</Button>
        <Button variant="default" component={Link} href={paths.clusters()}>{words.fleet}</Button>
      </div>
    </section>
  );
}
