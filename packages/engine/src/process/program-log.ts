import { styleText } from "node:util";
import type { Config } from "../config/config.ts";
import { createLogger, type Logger } from "../logger.ts";

/** What a started server serves, and where. */
export interface Served {
  url: string;
  graphs: readonly string[];
  /** Configured graphs that failed to load. */
  problems: readonly { graph_id: string; message: string }[];
  /** Further facts by label: the console's address, the model. */
  about?: Readonly<Record<string, string>>;
}

/** The program's log, with its start and stop messages. */
export interface ProgramLog {
  logger: Logger;
  logStart(served: Served): void;
  /** `walking`: the number of active runs. */
  logStop(signal: NodeJS.Signals, walking: number): void;
}

/** The log in the configured form: readable lines in a terminal, else JSON lines. */
export async function openProgramLog(config: Config): Promise<ProgramLog> {
  const { stdout } = process;
  const { logFormat, logLevel, drainSeconds } = config;
  const isPretty = logFormat === "pretty" || (logFormat === "auto" && stdout.isTTY);
  if (!isPretty) {
    const logger = createLogger(logLevel);
    return {
      logger,
      logStart: (served) => {
        // Parent processes wait for this line, so it is logged at any level.
        createLogger("info").info(aboutStart(config, served), "listening");
      },
      logStop: (signal, walking) => logger.info({ signal, walking, drain_seconds: drainSeconds }, "stopping"),
    };
  }
  const { default: pretty } = await import("pino-pretty");
  const colorize = stdout.isTTY && stdout.hasColors();
  const options = { colorize, singleLine: true, ignore: "pid,hostname", translateTime: "SYS:HH:MM:ss", sync: true };
  return {
    logger: createLogger(logLevel, pretty(options)),
    logStart: (served) => stdout.write(startText(config, served, colorize)),
    logStop: (signal, walking) => {
      const runs =
        walking === 0 ? "" : `Finishing ${walking === 1 ? "1 run" : `${walking} runs`}, at most ${drainSeconds} s. `;
      const again = signal === "SIGINT" && walking > 0 ? "Press Ctrl-C again to stop at once; nothing is lost." : "";
      stdout.write(`\n${runs}${again || "Stopping."}\n`);
    },
  };
}

/** Where data is stored: a folder, and the database next to it, without credentials. */
function dataPlaces({ dataDir, conversations, database }: Config): { data: string; database?: string } {
  const data = conversations.folder ?? dataDir;
  if (database === undefined) return { data };
  const { host, pathname } = new URL(database);
  return { data, database: `PostgreSQL at ${host}${pathname}` };
}

function aboutStart(config: Config, served: Served): Record<string, unknown> {
  const { port, workspace } = config;
  const { url, graphs, problems, about } = served;
  return {
    url,
    ...about,
    graphs,
    ...(problems.length > 0 && { graphs_not_served: problems.map(({ graph_id }) => graph_id) }),
    ...dataPlaces(config),
    workspace,
    ...(port !== 0 && port !== portOf(url) && { port_in_use: port }),
  };
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

/** The start message for a person. */
function startText(config: Config, served: Served, colorize: boolean): string {
  const { port, graphs: manifest, workspace } = config;
  const { url, graphs, problems, about = {} } = served;
  const paint = (style: Parameters<typeof styleText>[0], text: string): string =>
    colorize ? styleText(style, text, { validateStream: false }) : text;
  const moved = port !== 0 && port !== portOf(url) ? `  (port ${port} is in use)` : "";
  const none = paint("red", "none: nothing can be run");
  const failed = problems.map(({ graph_id }) => paint("red", `${graph_id} could not be loaded, see above`));
  const rows: [string, string][] = [
    ["api", `${paint("cyan", url)}${moved}`],
    ...Object.entries(about).map(([label, text]): [string, string] => [
      label,
      text.startsWith("http") ? paint("cyan", text) : text,
    ]),
    ["graphs", `${[...(graphs.length === 0 ? [none] : graphs), ...failed].join(", ")}  (${manifest})`],
    ...Object.entries(dataPlaces(config)),
    ["workspace", workspace],
  ];
  const lines = rows.map(([label, text]) => `  ${paint("dim", label.padEnd(10))}${text}\n`).join("");
  return `\n${paint("bold", `Millrace listens on ${url}`)}\n\n${lines}\n  ${paint("dim", "Ctrl-C stops it.")}\n\n`;
}
