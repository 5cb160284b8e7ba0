import { type MantineColorScheme, useMantineColorScheme } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useExplain } from '@/api/errors';
import { infoOptions } from '@/api/hub';
import { type Language, useLanguage, useWords } from '@/shared/hooks/useWords';
import { Choice } from '@/shared/ui/Choice';
import { CommandBlock } from '@/shared/ui/CommandBlock';
import { CopyButton } from '@/shared/ui/CopyButton';
import { Facts } from '@/shared/ui/Facts';
import { Notice } from '@/shared/ui/Notice';
import { PageHead } from '@/shared/ui/PageHead';
import { Placeholder } from '@/shared/ui/Placeholder';
import { Section } from '@/shared/ui/Section';
import styles from './SettingsPage.module.css';
import { settingWords } from './words';

const languages: [Language, string][] = [['en', 'English'], ['zh', '中文']];

/** What this hub is, how it looks here, and how to reach it without the dashboard. */
export default function SettingsPage() {
  const words = useWords(settingWords);
  const explain = useExplain();
  const { language, setLanguage } = useLanguage();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { data: info, error } = useQuery(infoOptions);
  const pins = info?.caPins ?? [];
  return (
    <div className="page">
      <title>{`${words.title} · Muster`}</title>
      <PageHead title={words.title} />
      <div className={styles['narrow']}>
        <Section title={words.hub}>
          {error ? <Notice explained={explain.error(error)} /> : !info ? <Placeholder rows={4} /> : (
            <Facts facts={[
              [words.version, <code key="version">{info.version}</code>],
              [words.address, info.hubAddress ? <code key="address">{info.hubAddress}</code> : words.notSet],
              [words.caPin, <span key="pin" className={styles['pin']}>{pins.map((pin) => <span key={pin} className={styles['pinLine']}><code className="wrap">{pin}</code><CopyButton text={pin} what={words.caPin} /></span>)}<span className="dim small">{words.caPinHint}</span></span>],
              [words.agentImage, info.agentImage ? <code key="image">{info.agentImage}</code> : words.notSet],
            ]} />
          )}
        </Section>
        <Section title={words.look}>
          <Facts facts={[
            [words.language, <Choice key="language" label={words.language} options={languages} chosen={language} onChoose={(key) => setLanguage(key === 'zh' ? 'zh' : 'en')} />],
            [words.theme, <Choice key="theme" label={words.theme} options={Object.entries(words.themes)} chosen={colorScheme} onChoose={(key) => setColorScheme(key as MantineColorScheme)} />],
          ]} />
        </Section>
        <Section title={words.command}>
          <p>{words.commandText}</p>
          <CommandBlock text="muster kubeconfig" what={words.command} />
        </Section>
        <Section title={words.api}>
          <p>{words.apiText} <a href="/api/docs">{words.apiLink}</a></p>
        </Section>
      </div>
    </div>
  );
}
