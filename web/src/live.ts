export async function beginLive(_root: HTMLElement): Promise<boolean> {
  return false;
}
