import type { LiveSettings } from "../live-settings/live-settings.ts";
import { createRate } from "@millrace/engine/concurrency/limits";
import type { RunServices } from "./services.ts";

/**
 * The services of a server. Those that depend on settings which change while it runs are read from the settings at each
 * use. A run takes a copy when it begins or goes on, so a change counts from then on.
 */
export function withLiveSettings<Services extends RunServices>(
  services: Services,
  settings: Pick<LiveSettings, "current">,
): Services {
  const [toolRate, modelRate] = [kept(rateOf), kept(rateOf)];
  const live: Partial<RunServices> = {
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

function rateOf(perSecond: number | undefined): RunServices["toolRate"] {
  return perSecond === undefined ? undefined : createRate(perSecond);
}

/** Makes a thing anew only when what it is made of changes. */
function kept<Of, Made>(make: (of: Of) => Made): (of: Of) => Made {
  let last: { of: Of; made: Made } | undefined;
  return (of) => {
    if (last === undefined || last.of !== of) last = { of, made: make(of) };
    return last.made;
  };
}
