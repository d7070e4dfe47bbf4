import { ServiceKey } from "../../src/tools/runtime/toolkit-services.ts";
import type { OpenedToolkit, ToolkitServer } from "../../src/toolkits/toolkit.ts";
import type { Engine } from "./simulation/embedded-engine.ts";
import { namedSimulator } from "./simulation/native-engine.ts";
import type { FileWatch } from "./watching/file-watch.ts";
import { openFileWatch } from "./watching/open-file-watch.ts";

/** The simulator that the operator has named; not open where the one that comes along simulates. */
export const simulatorKey = new ServiceKey<Engine>("simulator");
/** The watch of the workspace; not open where nothing is watched. */
export const fileWatchKey = new ServiceKey<FileWatch>("file_watch");

/** Opens the simulator and the watch of the workspace, as far as the configuration wants them. */
export function openCircuits(server: ToolkitServer): OpenedToolkit {
  const simulator = namedSimulator(server.config);
  const files = openFileWatch(server);
  if (simulator !== undefined) server.services.add(simulatorKey, simulator);
  if (files !== undefined) server.services.add(fileWatchKey, files);
  return {
    start: () => files?.start(),
    stop: async () => files?.close(),
    close: async () => simulator?.close(),
  };
}
