/** The look as Mantine wants it: greys, one accent, compact controls. Colours of states live in theme.css. */
import { ActionIcon, Button, createTheme, Input, type CSSVariablesResolver, type MantineColorsTuple } from '@mantine/core';

const accent: MantineColorsTuple = ['#eef1ff', '#dde3fd', '#b9c4f9', '#93a3f5', '#7186f2', '#5a70f0', '#4361ee', '#3550d2', '#2c45bb', '#2039a4'];
const night: MantineColorsTuple = ['#dfe4ea', '#c3cbd5', '#97a3b1', '#6b7785', '#3a4451', '#2a323d', '#1b222b', '#0f1318', '#0b0e12', '#07090c'];
const danger: MantineColorsTuple = ['#fff3f3', '#ffe1e1', '#fcc4c4', '#f99f9f', '#f57d7d', '#ee5b5b', '#c92a2a', '#b32424', '#9c1f1f', '#861a1a'];
const grey: MantineColorsTuple = ['#f7f8fa', '#f0f2f4', '#e3e6ea', '#d5d9de', '#c4c9d0', '#9aa2ac', '#5b6470', '#434b55', '#2b3138', '#1b1f24'];

const sans = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "PingFang SC", "Hiragino Sans GB", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif';

export const theme = createTheme({
  primaryColor: 'accent',
  primaryShade: { light: 6, dark: 6 },
  colors: { accent, dark: night, gray: grey, red: danger },
  black: '#1b1f24',
  fontFamily: sans,
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSizes: { xs: '0.75rem', sm: '0.875rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  lineHeights: { xs: '1rem', sm: '1.25rem', md: '1.25rem', lg: '1.5rem', xl: '1.75rem' },
  spacing: { xs: '0.5rem', sm: '0.75rem', md: '1rem', lg: '1.5rem', xl: '2rem' },
  defaultRadius: '6px',
  respectReducedMotion: true,
  components: {
    // One height for all that stands in a line; a phone gets a larger one.
    Button: Button.extend({
      defaultProps: { size: 'sm' },
      vars: (_theme, props) => ({ root: props.size === 'sm' ? { '--button-height': 'var(--control)', '--button-padding-x': '0.75rem', '--button-fz': '0.875rem' } : {} }),
    }),
    Input: Input.extend({ vars: () => ({ wrapper: { '--input-height': 'var(--control)', '--input-fz': '0.875rem' } }) }),
    InputWrapper: Input.Wrapper.extend({ classNames: { label: 'field-label', description: 'field-note' } }),
    ActionIcon: ActionIcon.extend({ defaultProps: { variant: 'subtle', color: 'gray', size: 'var(--control)' } }),
  },
});

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: { '--mantine-color-dimmed': '#5b6470', '--mantine-color-default-border': '#d5d9de', '--mantine-color-error': '#c0262d', '--mantine-color-anchor': '#3550d2', '--mantine-color-placeholder': '#6e7781' },
  dark: { '--mantine-color-dimmed': '#97a3b1', '--mantine-color-default-border': '#333d49', '--mantine-color-error': '#ff7b72', '--mantine-color-anchor': '#93a3f5', '--mantine-color-placeholder': '#7d8896', '--mantine-color-default': '#1b222b', '--mantine-color-default-hover': '#232b36' },
});
