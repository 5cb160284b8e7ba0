/** A long command with every flag on a line of its own, as a shell takes it too. */
export function folded(command: string): string {
  return command.includes('\n') ? command : command.replaceAll(' --', ' \\\n  --');
}
