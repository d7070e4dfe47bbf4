import type { Config } from "@millrace/engine/config/config";
import type { Storage } from "@millrace/engine/storage/storage";
import { ToolkitServices } from "../tools/runtime/toolkit-services.ts";
import { enabledToolkits } from "./enabled-toolkits.ts";
import { toolkits } from "./index.ts";
import type { OpenedToolkit, ToolkitServer } from "./toolkit.ts";

/** What the toolkits of a server have opened. */
export interface OpenedToolkits {
  services: ToolkitServices;
  start(): void;
  stop(): Promise<void>;
  close(): Promise<void>;
}

/** Opens what toolkits keep for as long as the server runs. Those that are switched off are told so, and may still watch. */
export function openToolkits(server: Omit<ToolkitServer, "isEnabled" | "services">): OpenedToolkits {
  const services = new ToolkitServices();
  const enabled = enabledToolkits(server.config.toolkits);
  const opened = toolkits.flatMap((toolkit): OpenedToolkit[] => {
    const one = toolkit.open?.({ ...server, services, isEnabled: enabled.includes(toolkit) });
    return one === undefined ? [] : [one];
  });
  return {
    services,
    start: () => {
      for (const one of opened) one.start?.();
    },
    stop: async () => {
      await Promise.all(opened.map(async (one) => one.stop?.()));
    },
    close: async () => {
      await Promise.all(opened.map(async (one) => one.close?.()));
    },
  };
}

/** The server's stores, some of which toolkits have replaced by their own. */
export function withToolkitStores<Stores extends Pick<Storage, "tasks">>(config: Config, storage: Stores): Stores {
  return toolkits.reduce((stores, toolkit) => ({ ...stores, ...toolkit.stores?.(config, stores) }), storage);
}
