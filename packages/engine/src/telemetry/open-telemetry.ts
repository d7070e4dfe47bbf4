import type { TelemetrySettings } from "../config/telemetry-settings.ts";
import type { Logger } from "../logger.ts";
import type { Telemetry } from "./telemetry.ts";

/** Starts exporting. Without a collector, OpenTelemetry is not even loaded. */
export async function openTelemetry(
  settings: TelemetrySettings | undefined,
  version: string,
  logger: Logger,
): Promise<Telemetry | undefined> {
  if (settings === undefined) return undefined;
  const { startExport } = await import("./exporters.ts");
  return startExport(settings, version, logger);
}
