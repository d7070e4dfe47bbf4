import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "@millrace/engine/config/config";
import type { Logger } from "@millrace/engine/logger";
import { startTestServer, type TestServer } from "./test-server.ts";

/** Servers whose callers are distinguished by rules that a test writes down. */
export interface RulesServers {
  /** Starts one. `rules` is what follows `new Auth()`; users are who `x-user` names. */
  serve(rules: string, changes?: Partial<Config>, manifest?: object, logger?: Logger): Promise<TestServer>;
  /** Stops all of them, and removes what they have kept. */
  remove(): Promise<void>;
}

const graphFolder = join(import.meta.dirname, "..", "fixtures", "graphs");

/** What users are called by in `x-user`, for rules that ask nothing else. */
export const byHeader = `.authenticate((request) => request.headers.get("x-user") ?? "anonymous")`;

/** A folder for such servers. */
export async function openRulesServers(): Promise<RulesServers> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-rules-"));
  const servers: TestServer[] = [];
  return {
    async serve(rules, changes = {}, manifest = {}, logger) {
      // A name of its own, because a process loads a module once.
      const name = join(folder, crypto.randomUUID());
      const imports = 'import { Auth, HTTPException, isStudioUser } from "@langchain/langgraph-sdk/auth";';
      await writeFile(`${name}.mjs`, `${imports}\nexport const auth = new Auth()${rules};`);
      const tests = join(import.meta.dirname, "test-graphs.ts");
      const graphs = {
        asking: join(graphFolder, "asking.ts:graph"),
        mirror: `${tests}:mirror`,
        keeper: `${tests}:keeper`,
        talker: `${tests}:talker`,
      };
      const auth = { path: `${name}.mjs:auth` };
      await writeFile(`${name}.json`, JSON.stringify({ graphs, auth, ...manifest }));
      const started = await startTestServer({ graphs: `${name}.json`, drainSeconds: 0.1, ...changes }, logger);
      servers.push(started);
      return started;
    },
    async remove() {
      for (const one of servers) await one.remove();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
