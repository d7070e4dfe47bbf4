import { ServiceKey, type ToolkitServices } from "../../src/tools/runtime/toolkit-services.ts";
import type { OpenedToolkit, ToolkitServer } from "../../src/toolkits/toolkit.ts";
import { createEngine, type Engine } from "./simulation/embedded-engine.ts";
import { namedSimulator } from "./simulation/native-engine.ts";
import type { FileWatch } from "./watching/file-watch.ts";
import { openFileWatch } from "./watching/open-file-watch.ts";

/** The simulator configured by the operator; not open if the embedded one is used. */
export const simulatorKey = new ServiceKey<Engine>("simulator");
/** The workspace's file watch; not open if disabled. */
export const fileWatchKey = new ServiceKey<FileWatch>("file_watch");

/** The embedded simulator, the default. It starts with the first simulation and ends after an idle minute. */
const embedded = createEngine();

/** The simulator that the server's simulations use. */
export function simulatorOf(services: ToolkitServices): Engine {
  return services.find(simulatorKey) ?? embedded;
}

/** Opens the configured simulator and file watch. */
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
