import { access, constants } from "node:fs/promises";
import { withTimeout } from "../concurrency/abort.ts";
import { errorMessage, explain, isAppError } from "../errors/errors.ts";

/** What a server needs to work. */
interface HealthParts {
  /** The number of served graphs. */
  graphs: number;
  /** Configured graphs that failed to load. */
  problems: readonly { graph_id: string }[];
  /** Resolves when the database has accepted a write. */
  probe: () => Promise<void>;
  /** Why it may not act for the database, where others can work on it too. */
  leaseProblem: () => string | undefined;
  /** Folders that must be writable. */
  folders: readonly string[];
}

/** Whether the server can work. */
export interface Health {
  /** Why it cannot; empty if it can. */
  reasons(): Promise<readonly string[]>;
  /** Marks the server as stopping. */
  stopping(): void;
}

/** Milliseconds for the database's write: longer than the connection timeout, so that the answer says why. */
const patience = 3_000;
/** Milliseconds for which a check is cached: anyone may ask, and each check waits for the disk. */
const lookInterval = 1_000;

/** Checks the server's dependencies on request. */
export function openHealth({ graphs, problems, probe, leaseProblem, folders }: HealthParts): Health {
  let isStopping = false;
  let last: { at: number; reasons: Promise<readonly string[]> } | undefined;
  const look = async (): Promise<readonly string[]> => {
    const found = await Promise.all([databaseProblem(probe), ...folders.map(folderProblem)]);
    return found.filter((problem) => problem !== undefined);
  };
  const none = `No graph is served: ${problems.map(({ graph_id }) => graph_id).join(", ") || "langgraph.json names none"}; see graph_not_served in the log.`;
  return {
    stopping: () => void (isStopping = true),
    async reasons() {
      if (isStopping) return ["The server is stopping."];
      const now = performance.now();
      if (last === undefined || now - last.at >= lookInterval) last = { at: now, reasons: look() };
      const found = [graphs === 0 ? none : undefined, ...(await last.reasons), leaseProblem()];
      return found.filter((reason) => reason !== undefined);
    },
  };
}

async function databaseProblem(probe: () => Promise<void>): Promise<string | undefined> {
  try {
    const late = (): string => `The database has taken no write for ${patience / 1_000} s.`;
    return await withTimeout(
      probe().then(() => undefined),
      patience,
      late,
    );
  } catch (error) {
    return `The database takes no write: ${isAppError(error) ? explain(error) : errorMessage(error)}`;
  }
}

async function folderProblem(folder: string): Promise<string | undefined> {
  try {
    await access(folder, constants.R_OK | constants.W_OK);
    return undefined;
  } catch (error) {
    return `The folder ${folder} cannot be written: ${errorMessage(error)}`;
  }
}

/** The response to a health check before the server can work; `undefined` for other paths. */
export function answerEarly(path: string): Response | undefined {
  if (path === "/health/live") return Response.json({ status: "live" });
  if (path !== "/health/ready") return undefined;
  return Response.json(
    { status: "not_ready", reasons: ["The server is starting."] },
    { status: 503, headers: { "retry-after": "1" } },
  );
}
