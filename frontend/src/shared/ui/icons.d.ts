// The package types its barrel only, and the barrel's 5,000 icons cost seconds; single icons are imported by path.
declare module '@tabler/icons-react/dist/esm/icons/*.mjs' {
  import type { FC, SVGProps } from 'react';

  const icon: FC<Omit<SVGProps<SVGSVGElement>, 'stroke'> & { size?: number; stroke?: number }>;
  export default icon;
}
