import { readdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { OverrideFile, type WarnOfFile } from "../config/override-file.ts";
import type { Logger } from "../logger.ts";
import type { SharedFiles } from "../storage/cluster.ts";
import type { OpenedStorage, Storage } from "../storage/storage.ts";

/** Milliseconds between two checks of the local files, and checks between two reads of the database without a notification. */
const [pause, looksBetween] = [1_000, 5];
/** What this server had in common with the others, for its next start. */
const stateFile = ".shared-files.json";

/** By name the version that was had in common, and its text; none where it was removed. */
const State = z.record(z.string(), z.object({ version: z.number(), text: z.string().nullable() }));
type State = z.infer<typeof State>;

interface SharedFolderParts {
  /** The data folder. */
  folder: string;
  /** The names of shared files, and of folders (with a slash at the end) of which all are shared. */
  names: readonly string[];
  storage: Pick<Storage, "files" | "notifications">;
  logger: Pick<Logger, "info" | "warn">;
}

/**
 * Keeps files of the data folder the same at all servers of one storage, however they are changed: by a request, by hand, or by
 * another server. Where two change one at once, the first of them stays; the other text goes to `<name>.before`.
 */
class SharedFolder {
  readonly #parts: SharedFolderParts;
  readonly #store: SharedFiles;
  readonly #opened = new Map<string, OverrideFile<string>>();
  readonly #stateFile: OverrideFile<State>;
  #state: State = {};
  #written = "";
  #looks = 0;
  #working: Promise<void> | undefined;
  #mustAsk = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: SharedFolderParts, store: SharedFiles) {
    this.#parts = parts;
    this.#store = store;
    this.#stateFile = new OverrideFile(join(parts.folder, stateFile), readState, this.#warn);
  }

  /** Resolves when what other servers have is here. Throws what the storage throws. */
  async start(): Promise<void> {
    const known = this.#stateFile.read();
    if (known.kind === "value") this.#state = known.value;
    await this.#exchange(true);
    this.#timer = setInterval(() => this.#look(), pause).unref();
    this.#parts.storage.notifications.onNotification(({ type }) => {
      if (type !== "files") return;
      this.#mustAsk = true;
      this.#look();
    });
  }

  /** `SharedFiles.exchange`. */
  async exchange(): Promise<void> {
    while (this.#working !== undefined) await this.#working;
    const exchanged = this.#exchange(true);
    this.#working = exchanged.catch(() => void (this.#mustAsk = true)).finally(() => (this.#working = undefined));
    await exchanged;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#working;
  }

  #look(): void {
    this.#looks += 1;
    if (this.#working !== undefined) return;
    const asks = this.#mustAsk || this.#looks % looksBetween === 0;
    this.#mustAsk = false;
    this.#working = this.#exchange(asks)
      // Where the database is away, a later look finds the same.
      .catch(() => void (this.#mustAsk = true))
      .finally(() => (this.#working = undefined));
  }

  /** `asks`: also where nothing has changed here. */
  async #exchange(asks: boolean): Promise<void> {
    if (!asks && this.#changed().length === 0) return;
    const versions = await this.#store.versions();
    // Another database has others.
    for (const name of Object.keys(this.#state)) if (!versions.has(name)) delete this.#state[name];
    for (const [name, version] of versions) {
      if (version !== this.#state[name]?.version && this.#isShared(name)) await this.#take(name);
    }
    for (const name of this.#changed()) await this.#give(name);
    const state = JSON.stringify(this.#state);
    if (state === this.#written) return;
    this.#stateFile.write(state, onlyOwner);
    this.#written = state;
  }

  /** The names of those that are not what was had in common. One that cannot be read says nothing. */
  #changed(): string[] {
    const names = new Set([...this.#here(), ...Object.keys(this.#state)]);
    return [...names].filter((name) => {
      const text = this.#textOf(name);
      return text !== undefined && text !== (this.#state[name]?.text ?? null);
    });
  }

  async #give(name: string): Promise<void> {
    const { version = 0 } = this.#state[name] ?? {};
    const text = this.#textOf(name) ?? null;
    // Another server was first: the next look takes that.
    if (!(await this.#store.put({ name, text, version }))) return void (this.#mustAsk = true);
    this.#state[name] = { version: version + 1, text };
    this.#parts.storage.notifications.send("all", { type: "files" });
  }

  async #take(name: string): Promise<void> {
    const found = await this.#store.get(name);
    if (found === undefined) return;
    const { text, version } = found;
    const own = this.#textOf(name) ?? null;
    const isOurs = own !== null && own !== text && own !== (this.#state[name]?.text ?? null);
    if (isOurs) {
      this.#parts.logger.warn({ file: name, kept: `${name}.before` }, "shared_file_replaced");
      this.#file(`${name}.before`).write(own, onlyOwner);
    }
    if (text === null) this.#file(name).remove();
    else if (text !== own) this.#file(name).write(text, onlyOwner);
    this.#state[name] = { version, text };
    this.#parts.logger.info({ file: name, version }, "shared_file_taken");
  }

  /** The names of the shared files that are here. */
  #here(): string[] {
    return this.#parts.names.flatMap((name) =>
      name.endsWith("/") ? namesIn(join(this.#parts.folder, name)).map((file) => name + file) : [name],
    );
  }

  #isShared(name: string): boolean {
    return this.#parts.names.some((own) => own === name || (own.endsWith("/") && isPlain(name, own)));
  }

  /** Null where there is none, nothing where it cannot be read. */
  #textOf(name: string): string | null | undefined {
    const found = this.#file(name).read();
    if (found.kind === "none") return null;
    return found.kind === "value" ? found.value : undefined;
  }

  #file(name: string): OverrideFile<string> {
    const known = this.#opened.get(name);
    const file = known ?? new OverrideFile(join(this.#parts.folder, name), (text) => ({ value: text }), this.#warn);
    this.#opened.set(name, file);
    return file;
  }

  readonly #warn: WarnOfFile = (warning) => this.#parts.logger.warn(warning, "shared_file_not_used");
}

const onlyOwner = 0o600;
const ofFolder = /^[a-z\d][\w-]*\.(?:txt|json)$/iu;

/** Whether a name is that of a file which lies directly in a folder. */
function isPlain(name: string, folder: string): boolean {
  return name.startsWith(folder) && ofFolder.test(name.slice(folder.length));
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => ofFolder.test(name));
  } catch {
    // It is made with its first file.
    return [];
  }
}

function readState(text: string): { value: State } | { problem: string } {
  try {
    const read = State.safeParse(JSON.parse(text));
    return read.success ? { value: read.data } : { problem: z.prettifyError(read.error) };
  } catch {
    return { problem: "it is not JSON" };
  }
}

/** The storage, whose servers share files from here on, where there can be others, until it is closed. */
export async function withSharedFolder(
  opened: OpenedStorage,
  parts: Omit<SharedFolderParts, "storage">,
): Promise<OpenedStorage> {
  const { files } = opened;
  if (files === undefined || parts.names.length === 0) return opened;
  const folder = new SharedFolder({ ...parts, storage: opened }, files);
  const close = async (): Promise<void> => {
    await folder.stop();
    await opened.close();
  };
  try {
    await folder.start();
    return { ...opened, files: { ...files, exchange: () => folder.exchange() }, close };
  } catch (error) {
    await close();
    throw error;
  }
}
