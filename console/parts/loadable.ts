import { createElement, useEffect, useState, type ComponentType, type ReactNode } from "react";
import { notifyError } from "./toast.tsx";

/** A module that is loaded when it is first needed, or ahead of that. */
export interface Loadable<Module> {
  /** Loads it now; where that fails, it is tried again when it is needed. */
  readonly ahead: () => void;
  /** The module as soon as it is there, for a component that needs it now. */
  readonly useModule: (isNeeded: boolean) => Module | undefined;
}

/** Makes a module loadable by what imports it. */
export function loadable<Module>(load: () => Promise<Module>): Loadable<Module> {
  let loaded: Module | undefined;
  const get = async (): Promise<Module> => (loaded ??= await load());
  return {
    ahead: () => void get().catch(() => undefined),
    useModule: (isNeeded) => {
      const [module, setModule] = useState(loaded);
      useEffect(() => {
        if (isNeeded) get().then((now) => setModule(() => now), notifyError);
      }, [isNeeded]);
      return isNeeded ? (loaded ?? module) : undefined;
    },
  };
}

/** A component whose file is loaded when it is first drawn, or ahead of that. */
export interface LazyComponent<Props> {
  (props: Props): ReactNode;
  /** Loads it now; where that fails, it is tried again when it is drawn. */
  readonly ahead: () => void;
}

/**
 * Makes a component whose file is loaded when it is first drawn; throws to the boundary around it where that fails. React's own
 * `lazy` would always draw the fallback first, also for a file that is there, and then keep it for 300 ms at least.
 */
export function lazyComponent<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  fallback?: ReactNode,
): LazyComponent<Props> {
  let loaded: ComponentType<Props> | undefined;
  let loading: Promise<void> | undefined;
  const get = (): Promise<void> => {
    loading ??= load().then(
      (component) => {
        loaded = component;
      },
      (error: unknown) => {
        loading = undefined;
        throw error;
      },
    );
    return loading;
  };
  function Lazy(props: Props): ReactNode {
    const [failure, setFailure] = useState<{ error: unknown }>();
    const [, setLoaded] = useState(loaded !== undefined);
    useEffect(() => {
      get().then(
        () => setLoaded(true),
        (error: unknown) => setFailure({ error }),
      );
    }, []);
    if (failure !== undefined) throw failure.error;
    return loaded === undefined ? fallback : createElement(loaded, props);
  }
  return Object.assign(Lazy, { ahead: () => void get().catch(() => undefined) });
}
