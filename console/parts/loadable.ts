import { useEffect, useState } from "react";
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
