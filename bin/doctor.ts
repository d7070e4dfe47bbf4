import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { type Config, currentConfig, unknownNames } from "@millrace/engine/config/config";
import { errorMessage, explain, isAppError, systemCode } from "@millrace/engine/errors/errors";
import { loadGraphs } from "@millrace/engine/graphs/load";
import { prepareFolders } from "@millrace/engine/process/folders";
import { checkWhole } from "@millrace/engine/storage/sqlite/database/maintenance";
import { chooseModel } from "@millrace/models/choose-model";
import { MemorySaver } from "@langchain/langgraph";
import { agentGraphs } from "../src/agent-runs/agent-run.ts";
import { findSandbox } from "../src/tools/programs/sandbox.ts";

/** What one look has found. `remedy`: what to do where it is not well. */
interface Finding {
  what: string;
  state: "ok" | "note" | "wrong";
  text: string;
}

/** Looks at all that a server needs, without starting one. False where something keeps it from working. */
export async function doctor(defaults: Record<string, string>): Promise<boolean> {
  const findings: Finding[] = [];
  const look = async (
    what: string,
    work: () => Promise<string> | string,
    state: Finding["state"] = "ok",
  ): Promise<void> => {
    try {
      findings.push({ what, state, text: await work() });
    } catch (error) {
      findings.push({ what, state: "wrong", text: isAppError(error) ? explain(error) : errorMessage(error) });
    }
  };
  await look("configuration", () => {
    currentConfig(defaults);
    return "every value has its form";
  });
  for (const { name, nearest } of unknownNames()) {
    const text = `${name} is read by nobody${nearest === undefined ? "; .env.example has the names" : `; did you mean ${nearest}?`}`;
    findings.push({ what: "configuration", state: "note", text });
  }
  if (findings.every(({ state }) => state !== "wrong")) {
    const config = currentConfig(defaults);
    await look("folders", () => `workspace ${prepareFolders(config)}, data ${config.dataDir}`);
    await look("database", () => databaseText(join(config.conversations.folder ?? config.dataDir, "millrace.db")));
    await look("port", () => portText(config));
    await look("graphs", async () => {
      const graphs = await loadGraphs(config.graphs, new MemorySaver(), config.loadSeconds * 1_000, agentGraphs);
      if (graphs.problems.length === 0) return graphs.ids().join(", ");
      throw new Error(graphs.problems.map(({ graph_id, message }) => `${graph_id}: ${message}`).join("\n"));
    });
    await look("model", async () => {
      const { model, why } = await chooseModel(config);
      return `${model} (${why})`;
    });
    const keys = config.apiKeys.length;
    await look("keys", () => (keys === 0 ? `none is asked for: only ${config.host} may call` : `${keys} for callers`));
    const sandbox = await findSandbox();
    findings.push({
      what: "sandbox",
      state: sandbox === undefined ? "note" : "ok",
      text:
        sandbox === undefined
          ? "no bubblewrap: commands of tools run with this user's rights; install bubblewrap"
          : "bubblewrap",
    });
  }
  const marks = { ok: "ok   ", note: "note ", wrong: "WRONG" };
  for (const { what, state, text } of findings) process.stdout.write(`${marks[state]}  ${what.padEnd(14)}${text}\n`);
  return findings.every(({ state }) => state !== "wrong");
}

function databaseText(path: string): string {
  if (!existsSync(path)) return `none yet; it will be made in ${dirname(path)}`;
  const { problems, sessions, runs } = checkWhole(path);
  if (problems.length === 0) return `sound: ${sessions} session(s), ${runs} run(s)`;
  throw new Error(`${path} is damaged: ${problems.join("; ")}. Restore a backup: millrace restore <file>.`);
}

async function portText({ host, port, portIsDefault }: Config): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const server = createServer().once("error", reject).listen(port, host, resolve);
  try {
    await promise;
    return `${host}:${port} is free`;
  } catch (error) {
    if (systemCode(error) !== "EADDRINUSE") throw error;
    if (portIsDefault) return `${host}:${port} is in use: the next free one will be taken, unless PORT names one`;
    throw new Error(`${host}:${port} is in use. Stop what uses it, or set PORT to another.`, { cause: error });
  } finally {
    server.close();
  }
}
