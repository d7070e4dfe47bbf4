import { styleText } from "node:util";
import type { Config } from "../config/config.ts";
import { createLogger, type Logger } from "../logger.ts";

/** What a server that has started serves, and where. */
export interface Served {
  url: string;
  graphs: readonly string[];
  /** Graphs that are named and could not be loaded. */
  problems: readonly { graph_id: string; message: string }[];
  /** What else there is to be said of it, by what it is: the address of the console, the model. */
  about?: Readonly<Record<string, string>>;
}

/** The log of the program, and what it says of its beginning and end. */
export interface ProgramLog {
  logger: Logger;
  tellStart(served: Served): void;
  /** `walking`: runs that are at work. */
  tellStop(signal: NodeJS.Signals, walking: number): void;
}

/** The log as the configuration wants it: lines for people in a terminal, else lines of JSON. */
export async function openProgramLog(config: Config): Promise<ProgramLog> {
  const { stdout } = process;
  const { logFormat, logLevel, drainSeconds } = config;
  const isPretty = logFormat === "pretty" || (logFormat === "auto" && stdout.isTTY);
  if (!isPretty) {
    const logger = createLogger(logLevel);
    return {
      logger,
      tellStart: (served) => {
        // It is what a program that starts this one waits for, so it comes at any level.
        createLogger("info").info(aboutStart(config, served), "listening");
      },
      tellStop: (signal, walking) => logger.info({ signal, walking, drain_seconds: drainSeconds }, "stopping"),
    };
  }
  const { default: pretty } = await import("pino-pretty");
  const colorize = stdout.isTTY && stdout.hasColors();
  const options = { colorize, singleLine: true, ignore: "pid,hostname", translateTime: "SYS:HH:MM:ss", sync: true };
  return {
    logger: createLogger(logLevel, pretty(options)),
    tellStart: (served) => stdout.write(startText(config, served, colorize)),
    tellStop: (signal, walking) => {
      const runs =
        walking === 0 ? "" : `Finishing ${walking === 1 ? "1 run" : `${walking} runs`}, at most ${drainSeconds} s. `;
      const again = signal === "SIGINT" && walking > 0 ? "Press Ctrl-C again to stop at once; nothing is lost." : "";
      stdout.write(`\n${runs}${again || "Stopping."}\n`);
    },
  };
}

/** Where everything is kept: a folder, and the database beside it, without user and password. */
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

/** What somebody who has just started the server looks for. */
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
