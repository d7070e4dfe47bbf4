import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { type Config, currentConfig, unknownNames } from "@millrace/engine/config/config";
import { unknownOwners } from "@millrace/engine/config/owner-limits";
import { AppError, errorMessage, explain, isAppError, systemCode } from "@millrace/engine/errors/errors";
import { loadGraphs } from "@millrace/engine/graphs/load";
import { isLoopbackName } from "@millrace/engine/http/middleware/gate";
import { createLogger } from "@millrace/engine/logger";
import { openCustomParts } from "@millrace/engine/manifest/custom-parts";
import { prepareFolders } from "@millrace/engine/process/folders";
import { inspectPostgres } from "@millrace/engine/storage/postgres/database/inspect-database";
import { checkWhole } from "@millrace/engine/storage/sqlite/database/maintenance";
import { chooseModel } from "@millrace/models/choose-model";
import { createModel } from "@millrace/models/load-model";
import { openModels } from "@millrace/models/registry/registry";
import { offline } from "@millrace/offline/offline";
import { MemorySaver } from "@langchain/langgraph";
import { agentGraphs } from "../src/agent-runs/agent-run.ts";
import { findSandbox } from "../src/tools/programs/sandbox.ts";

/** The result of one check. */
interface Finding {
  what: string;
  state: "ok" | "note" | "wrong";
  text: string;
}

/** What a start would serve: the manifest, and defaults for unset variables. */
export interface Place {
  file: string;
  defaults: Record<string, string>;
}

const marks = { ok: "ok   ", note: "note ", wrong: "WRONG" };
/** The column of a finding's text. */
const indent = 21;

/**
 * Checks everything a server needs without starting one, and prints the results. `enter` changes to what a start would
 * serve. Returns false if something would keep a server from working.
 */
export async function doctor(enter: () => Promise<Place>): Promise<boolean> {
  const findings: Finding[] = [];
  const report = (what: string, state: Finding["state"], text: string): void =>
    void findings.push({ what, state, text });
  const look = async (what: string, work: () => Promise<string> | string): Promise<void> => {
    try {
      report(what, "ok", await work());
    } catch (error) {
      report(what, "wrong", isAppError(error) ? explain(error) : errorMessage(error));
    }
  };
  let defaults: Record<string, string> = {};
  await look("served", async () => {
    const place = await enter();
    ({ defaults } = place);
    return place.file;
  });
  if (isWell(findings)) await look("configuration", () => configurationText(defaults));
  for (const { name, nearest } of unknownNames()) {
    const remedy = nearest === undefined ? "see .env.example for the names" : `did you mean ${nearest}?`;
    report("configuration", "note", `${name} is not a setting; ${remedy}`);
  }
  if (isWell(findings)) {
    const config = currentConfig(defaults);
    let hasRules = false;
    await look("folders", () => `workspace ${prepareFolders(config)}, data ${config.dataDir}`);
    const notes: string[] = [];
    await look("database", () => databaseText(config, notes));
    for (const note of notes) report("database", "note", note);
    await look("port", () => portText(config));
    await look("graphs", async () => {
      const { auth } = await openCustomParts(config.graphs, createLogger("silent"));
      hasRules = auth !== undefined;
      return await graphsText(config);
    });
    await look("model", () => modelText(config));
    await look("keys", () => keysText(config, hasRules));
    for (const { variable, owner, remedy } of unknownOwners(config, config.apiKeys, hasRules)) {
      report("owners", "note", `${variable} names ${owner}, which is no owner of a key; ${remedy}`);
    }
    if ((await findSandbox()) === undefined) {
      report("sandbox", "note", "no bubblewrap: commands of tools run with this user's rights; install bubblewrap");
    } else report("sandbox", "ok", "commands of tools run in bubblewrap");
  }
  for (const { what, state, text } of findings) {
    const lines = text.replaceAll("\n", `\n${" ".repeat(indent)}`);
    process.stdout.write(`${`${marks[state]}  ${what}`.padEnd(indent)}${lines}\n`);
  }
  return isWell(findings);
}

function isWell(findings: readonly Finding[]): boolean {
  return findings.every(({ state }) => state !== "wrong");
}

function configurationText(defaults: Record<string, string>): string {
  currentConfig(defaults);
  return "all values are valid";
}

async function graphsText({ graphs: file, loadSeconds }: Config): Promise<string> {
  const graphs = await loadGraphs(file, new MemorySaver(), loadSeconds * 1_000, agentGraphs);
  if (graphs.problems.length > 0) {
    throw new Error(graphs.problems.map(({ graph_id, message }) => `${graph_id}: ${message}`).join("\n"));
  }
  if (graphs.ids().length > 0) return graphs.ids().join(", ");
  throw new AppError("config", `${file} names no graphs, so nothing can be run.`, {
    suggestion: 'Write one into it: {"graphs": {"agent": "./src/agent.ts:graph"}}.',
  });
}

/** How the database is. Adds to `notes` what should be done about it. */
async function databaseText({ dataDir, conversations, database }: Config, notes: string[]): Promise<string> {
  if (database !== undefined) {
    const { place, version, bytes, hasSchema, note } = await inspectPostgres(database);
    if (note !== undefined) notes.push(note);
    const content = hasSchema
      ? `${(bytes / 1024 / 1024).toFixed(1)} MB`
      : "a start makes its tables, or brings them up to date";
    return `PostgreSQL ${version} at ${place}: ${content}`;
  }
  const path = join(conversations.folder ?? dataDir, "millrace.db");
  if (!existsSync(path)) return `none yet; a start makes it in ${dirname(path)}`;
  const { problems, sessions, runs } = checkWhole(path);
  if (problems.length === 0) return `sound: ${sessions} session(s), ${runs} run(s)`;
  throw new AppError("storage_corrupt", `${path} is damaged: ${problems.join("; ")}.`, {
    suggestion: "Restore a backup: millrace restore <file>.",
  });
}

async function portText({ host, port, portIsDefault }: Config): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const server = createServer().once("error", reject).listen(port, host, resolve);
  try {
    await promise;
    return `${host}:${port} is free`;
  } catch (error) {
    const isInUse = systemCode(error) === "EADDRINUSE";
    if (isInUse && portIsDefault) return `${host}:${port} is in use: the next free one is taken, unless PORT names one`;
    const suggestion = isInUse
      ? "Stop what uses it, or set PORT to another."
      : "Set HOST and PORT to an address of this machine that this user may use.";
    const message = isInUse
      ? `${host}:${port} is in use.`
      : `${host}:${port} cannot be listened on: ${errorMessage(error)}.`;
    throw new AppError("config", message, { suggestion, cause: error });
  } finally {
    server.close();
  }
}

/** The default model of runs. Throws if it cannot be called: unknown provider, missing key or package. */
async function modelText(config: Config): Promise<string> {
  const { model, why } = await chooseModel(config);
  const chosen = { ...config, model };
  const models = openModels(chosen, createLogger("silent"), { offline });
  const { main } = models.roles();
  createModel(main, {}, chosen, { models });
  return main === model ? `${model} (${why})` : `${main} (the role main of models.yaml)`;
}

function keysText({ apiKeys, host }: Config, hasRules: boolean): string {
  if (apiKeys.length > 0) return `${apiKeys.length} in MILLRACE_API_KEYS`;
  if (hasRules) return "none; auth.path of langgraph.json says who may call";
  if (isLoopbackName(host)) return "none, so everybody on this machine may call, and nobody else";
  throw new AppError("config", `HOST is ${host}, which others can reach, and MILLRACE_API_KEYS is empty.`, {
    suggestion: "Set MILLRACE_API_KEYS to owner:key, name auth.path in langgraph.json, or listen on 127.0.0.1.",
  });
}
