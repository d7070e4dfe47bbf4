/** What tests use of React, whose own types bring the types of a page. */
declare module "react" {
  export function createElement(component: () => null): object;
  export function useEffect(effect: () => () => void, deps: readonly unknown[]): void;
  export function useMemo<Value>(make: () => Value, deps: readonly unknown[]): Value;
  export function useSyncExternalStore<Value>(subscribe: (changed: () => void) => () => void, read: () => Value): Value;
  export function useState<Value>(initial: Value): [Value, (value: Value) => void];
}
