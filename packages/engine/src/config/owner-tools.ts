import { commaList } from "./comma-list.ts";

/**
 * Names of toolkits and of single tools, by the name of the owner, or of the user of `auth.path`, who may use no others. Who is not named may use all.
 */
export type OwnerTools = Readonly<Record<string, readonly string[]>>;

/** What a user is called is up to the rules: an address of mail, or one of the web. The last colon is the one that counts. */
const entryForm = /^(?<owner>[A-Za-z0-9][^\s,]{0,199})\s*:(?<names>[\w\s.-]*)$/u;

/** A list of `owner: name name` in the environment; what is wrong is told by its place. */
export const ownerTools = commaList.transform((entries, context): OwnerTools => {
  const limits = new Map<string, string[]>();
  for (const [index, entry] of entries.entries()) {
    const { owner = "", names = "" } = entryForm.exec(entry)?.groups ?? {};
    const message =
      owner === ""
        ? "expected owner:name name, such as guest:files read_tasks"
        : limits.has(owner)
          ? `${owner} has an entry already`
          : undefined;
    if (message !== undefined) context.addIssue({ code: "custom", message: `entry ${index + 1}: ${message}` });
    else limits.set(owner, names.split(/\s+/u).filter(Boolean));
  }
  return Object.fromEntries(limits);
});
