import { ActionIcon, type MantineColorScheme, UnstyledButton, useMantineColorScheme } from '@mantine/core';
import IconDeviceDesktop from '@tabler/icons-react/dist/esm/icons/IconDeviceDesktop.mjs';
import IconMoon from '@tabler/icons-react/dist/esm/icons/IconMoon.mjs';
import IconSun from '@tabler/icons-react/dist/esm/icons/IconSun.mjs';
import { useLanguage, useWords } from '@/shared/hooks/useWords';
import { appWords } from '../words';
import styles from './Switches.module.css';

const next: Record<MantineColorScheme, MantineColorScheme> = { auto: 'light', light: 'dark', dark: 'auto' };
const icons = { auto: IconDeviceDesktop, light: IconSun, dark: IconMoon };

/** Shows the other language's name in that language, and switches without a reload. */
export function LanguageButton() {
  const words = useWords(appWords);
  const { language, setLanguage } = useLanguage();
  return (
    <UnstyledButton
      className={styles['language']} lang={language === 'en' ? 'zh-CN' : 'en'} title={words.switchLanguage}
      onClick={() => setLanguage(language === 'en' ? 'zh' : 'en')}
    >
      {words.otherLanguage}
    </UnstyledButton>
  );
}

/** Goes round: as the system, light, dark. */
export function ThemeButton() {
  const words = useWords(appWords);
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const Icon = icons[colorScheme];
  const label = words.themeIs(words.themes[colorScheme]);
  return (
    <ActionIcon aria-label={label} title={label} onClick={() => setColorScheme(next[colorScheme])}>
      <Icon size={20} stroke={1.75} />
    </ActionIcon>
  );
}
