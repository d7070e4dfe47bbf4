/** What tests use of React, which brings no types of its own. */
declare module "react" {
  export function createElement(component: () => null): object;
  export function useEffect(effect: () => () => void, deps: readonly unknown[]): void;
  export function useMemo<Value>(make: () => Value, deps: readonly unknown[]): Value;
  export function useSyncExternalStore<Value>(subscribe: (changed: () => void) => () => void, read: () => Value): Value;
  export function useState<Value>(initial: Value): [Value, (value: Value) => void];
}

declare module "react-dom/client" {
  export function createRoot(container: unknown): { render(element: object): void; unmount(): void };
}
