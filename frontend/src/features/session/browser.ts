/** A user agent string as two words; what is not known stays as it came. */
export function browserOf(agent: string): { browser: string; system: string } {
  const browser = /Edg\//.test(agent) ? 'Edge' : /OPR\//.test(agent) ? 'Opera' : /Firefox\//.test(agent) ? 'Firefox' : /HeadlessChrome\/|Chrome\/|Chromium\//.test(agent) ? 'Chrome' : /Safari\//.test(agent) ? 'Safari' : agent.split(/[ /]/, 1)[0] ?? '';
  const system = /Android/.test(agent) ? 'Android' : /iPhone|iPad/.test(agent) ? 'iOS' : /Windows/.test(agent) ? 'Windows' : /Mac OS X/.test(agent) ? 'macOS' : /Linux|X11/.test(agent) ? 'Linux' : '';
  return { browser, system };
}
