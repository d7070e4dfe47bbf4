import { homedir } from "node:os";
import type { Config } from "@millrace/engine/config/config";
import type { Storage } from "@millrace/engine/storage/storage";
import { ToolkitServices } from "../tools/runtime/toolkit-services.ts";
import type { DocumentSource } from "../context/documentation/documentation.ts";
import type { ToolSource } from "../tools/runtime/tool.ts";
import { fileFormats } from "../tools/workspace/file-formats.ts";
import { builtInTools, enabledToolkits } from "./enabled-toolkits.ts";
import { toolkits } from "./index.ts";
import type { OpenedToolkit, ToolkitServer } from "./toolkit.ts";

/** Opened parts of a server's toolkits. */
export interface OpenedToolkits {
  services: ToolkitServices;
  documents: readonly DocumentSource[];
  /** Where further tools come from. It grows while the server runs. */
  toolSources: readonly ToolSource[];
  /** A session is deleted. */
  forget(sessionId: string): Promise<void>;
  start(): void;
  stop(): Promise<void>;
  close(): Promise<void>;
}

/** What has a default: the user's own home, no changes of settings, and no stored keys. */
type Defaulted = "home" | "settings" | "models";

/** Opens the services of all toolkits for the server's lifetime. `isEnabled` says which are switched on. */
export function openToolkits({
  home = homedir(),
  settings = { current: () => server.config },
  models = { storedKeys: () => ({}) },
  ...server
}: Omit<ToolkitServer, "isEnabled" | "services" | "toolNames" | "addToolSource" | Defaulted> &
  Partial<Pick<ToolkitServer, Defaulted>>): OpenedToolkits {
  const services = new ToolkitServices();
  const enabled = enabledToolkits(server.config.toolkits);
  const toolNames = new Set(Object.keys(builtInTools()));
  services.add(
    fileFormats,
    enabled.flatMap((toolkit) => toolkit.fileFormats),
  );
  const toolSources: ToolSource[] = [];
  const addToolSource = (source: ToolSource): void => void toolSources.push(source);
  const opened = toolkits.flatMap((toolkit): OpenedToolkit[] => {
    const isEnabled = enabled.includes(toolkit);
    const one = toolkit.open?.({ ...server, home, settings, models, toolNames, services, isEnabled, addToolSource });
    return one === undefined ? [] : [one];
  });
  return {
    services,
    documents: opened.flatMap(({ documents = [] }) => documents),
    toolSources,
    forget: async (sessionId) => {
      await Promise.all(opened.map(async (one) => one.forget?.(sessionId)));
    },
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
