import { z } from "zod";
import { AppError, errorMessage } from "@millrace/engine/errors/errors";
import type { Logger } from "@millrace/engine/logger";
import { OverrideFile } from "@millrace/engine/config/override-file";

/** The default repository. */
const defaultRepository = "https://github.com/allwefantasy/llm_friendly_packages";

const Settings = z.object({
  repository: z.string().optional(),
  /** Library names by workspace. */
  projects: z.record(z.string(), z.array(z.string())).default({}),
});
type Settings = z.infer<typeof Settings>;

/** The stored settings of a project's libraries. */
export interface LibrarySettings {
  /** The repository's address. */
  address(): string;
  /** The added libraries, as `user/library`. */
  names(): string[];
  /** Throws errors of writing the file, and `conflict` if it is unreadable. */
  saveNames(names: readonly string[]): void;
  /** `undefined`: the default. */
  saveAddress(address: string | undefined): void;
}

/** Opens the settings file, which is optional. It is read again after changes. */
export function openLibrarySettings(path: string, workspace: string, logger: Pick<Logger, "warn">): LibrarySettings {
  const file = new OverrideFile<Settings>(path, readSettings, (warning) =>
    logger.warn(warning, "library_settings_not_used"),
  );
  const settings = (): Settings => {
    const found = file.read();
    return found.kind === "value" ? found.value : { projects: {} };
  };
  const save = (changed: Settings): void => {
    // An unreadable file is not overwritten: a person may want to fix it.
    const found = file.read();
    if (found.kind === "unusable") throw new AppError("conflict", `${path} cannot be used: ${found.problem}.`);
    file.write(`${JSON.stringify(changed, null, 2)}\n`);
  };
  return {
    address: () => settings().repository ?? defaultRepository,
    names: () => settings().projects[workspace] ?? [],
    saveNames(names) {
      const { projects, ...others } = settings();
      save({ ...others, projects: { ...projects, [workspace]: names.toSorted() } });
    },
    saveAddress(address) {
      save({ projects: settings().projects, ...(address === undefined ? {} : { repository: address }) });
    },
  };
}

function readSettings(text: string): { value: Settings } | { problem: string } {
  try {
    const read = Settings.safeParse(JSON.parse(text));
    return read.success ? { value: read.data } : { problem: z.prettifyError(read.error) };
  } catch (error) {
    return { problem: `it is not JSON: ${errorMessage(error)}` };
  }
}
