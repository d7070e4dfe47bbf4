/**
 * Whether a list begins with the very elements of another one. Asked of whole conversations several times in a turn, so
 * without a call for each element.
 */
export function beginsWith(list: readonly unknown[], beginning: readonly unknown[]): boolean {
  if (beginning.length > list.length) return false;
  for (let index = 0; index < beginning.length; index += 1) if (list[index] !== beginning[index]) return false;
  return true;
}
