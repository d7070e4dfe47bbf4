import type { LiveSettings } from "../live-settings/live-settings.ts";
import { createRateLimiter } from "@millrace/engine/concurrency/limits";
import type { SharedRunServices } from "./services.ts";

/**
 * Makes services that depend on changeable settings read them at each use. A run copies the services when it starts or
 * resumes, so a change counts from then on.
 */
export function withLiveSettings<Services extends SharedRunServices>(
  services: Services,
  settings: Pick<LiveSettings, "current">,
): Services {
  const [toolRate, modelRate] = [cached(rateOf), cached(rateOf)];
  const live: Partial<SharedRunServices> = {
    get toolRate() {
      return toolRate(settings.current().toolRate);
    },
    get modelRate() {
      return modelRate(settings.current().modelRate);
    },
    get modelRequests() {
      return settings.current().modelRequests;
    },
    get criticalFiles() {
      return settings.current().criticalFiles;
    },
    get confirmTasks() {
      return settings.current().confirmTasks;
    },
  };
  return Object.defineProperties(services, Object.getOwnPropertyDescriptors(live));
}

function rateOf(perSecond: number | undefined): SharedRunServices["toolRate"] {
  return perSecond === undefined ? undefined : createRateLimiter(perSecond);
}

/** Caches the last value by its input. */
function cached<Of, Made>(make: (of: Of) => Made): (of: Of) => Made {
  let last: { of: Of; made: Made } | undefined;
  return (of) => {
    if (last === undefined || last.of !== of) last = { of, made: make(of) };
    return last.made;
  };
}
