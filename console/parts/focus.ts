/** As the `ref` of a field that stands there because somebody asked for it: the field has the focus from the beginning. */
export function focusAtFirst(element: HTMLElement | null): void {
  element?.focus();
}
