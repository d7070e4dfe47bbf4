/** Programs that only read what they are given and write to their output, whatever their options. */
const readers = new Set(
  "ls cat head tail wc grep egrep fgrep stat du cut nl diff cmp sha256sum sha1sum md5sum cksum basename dirname echo printf pwd uname true false".split(
    " ",
  ),
);

/**
 * Whether a command of plain words only reads the workspace: the one kind that may run without a person's yes, and only
 * in a sandbox. Paths that lead elsewhere are none of it.
 */
export function isHarmless([program = "", ...given]: readonly string[]): boolean {
  return readers.has(program) && !given.some((word) => leadsOut(word));
}

function leadsOut(word: string): boolean {
  const value = word.startsWith("-") ? word.replace(/^-{1,2}[\w-]*=?/u, "") : word;
  return (
    /^[/~\\]|^[A-Za-z]:/u.test(value) ||
    value.split(/[/\\=:,]/u).includes("..") ||
    /=[/~]/u.test(word) ||
    /^-\w+\//u.test(word)
  );
}
