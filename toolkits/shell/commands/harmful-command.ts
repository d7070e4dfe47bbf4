/** Programs that exceed the user's rights or affect the machine itself, by effect. */
const programs: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "takes the rights of another user": "sudo su doas pkexec runuser chroot nsenter",
    "turns the machine off": "shutdown reboot halt poweroff init telinit",
    "destroys or changes disks": "mkfs mke2fs fdisk sfdisk parted wipefs blkdiscard mount umount cryptsetup",
    "changes the users of the machine": "passwd chpasswd useradd userdel usermod visudo",
    "changes what the machine starts by itself": "systemctl service crontab launchctl",
    "runs what cannot be seen": "eval source .",
  }).flatMap(([why, names]) => names.split(" ").map((name) => [name, why] as const)),
);
/** Programs that only start the next one, and variable assignments. */
const prefix = /^(?:env|nohup|nice|time|exec|command|xargs|\w+=.*)$/u;
const interpreter = /^(?:(?:ba|z|da|k)?sh|python3?|node|perl|ruby|php)$/u;
const remover = /^(?:rm|rmdir|shred|chmod|chown|mv)$/u;
/** The whole machine, home or workspace. */
const everything = /^(?:\/+|\/(?:etc|usr|bin|lib|var|boot|home|root)\/?|~\/?|\$\{?HOME\}?\/?|\.{1,2}\/?)?\*?$/u;
const systemFile = /^(?:of=)?(?:\/(?:etc|boot|proc|dev\/(?:sd|hd|nvme|disk|mem))|(?:~|\$HOME)\/\.)/u;
/** Variables that make programs run something else. */
const steering = /(?:^|[\s;&|(])((?:LD|DYLD)_\w+|PATH|IFS|BASH_ENV|NODE_OPTIONS)=/u;

/**
 * Why a command is refused even with approval; `undefined` for all others, which still need approval. `words` are the
 * command's words if it needs no shell. Catches obvious mistakes only: the sandbox and the approval are the protection.
 */
export function harmfulCommand(command: string, words: readonly string[] | undefined): string | undefined {
  if (words !== undefined) {
    const isPlain = /^[\w./+@:,=%\\~-]+$/u.test(words[0] ?? "");
    return isPlain ? harmOf(words, false) : "it hides which program runs";
  }
  const steered = steering.exec(command)?.[1];
  if (steered !== undefined) return `it sets ${steered}, which makes programs run something else`;
  if (/:\(\)\s*\{/u.test(command)) return "it starts itself without end";
  const written = [...command.matchAll(/>[>|]?\s*([^\s;&|<>]+)/gu)].find(([, place = ""]) => systemFile.test(place));
  if (written !== undefined) return `it writes to ${written[1]}`;
  for (const [, sign, text = ""] of command.matchAll(/(^|[;&|\n(){}`])([^;&|\n(){}`]+)/gu)) {
    const plain = text
      .replaceAll(/['"\\]/gu, "")
      .trim()
      .split(/\s+/u);
    const harm = harmOf(plain, sign === "|");
    if (harm !== undefined) return harm;
  }
  return undefined;
}

function harmOf(words: readonly string[], isPiped: boolean): string | undefined {
  const first = words.findIndex((word) => !prefix.test(word));
  const name =
    words[first]
      ?.split("/")
      .at(-1)
      ?.toLowerCase()
      .replace(/^mkfs\..*/u, "mkfs") ?? "";
  const given = words.slice(first + 1);
  const why = programs.get(words[first] === "." ? "." : name);
  if (why !== undefined) return `${words[first] === "." ? "." : name} ${why}`;
  const places = given.filter((word) => !word.startsWith("-"));
  const whole = places.find((place) => everything.test(place));
  if (remover.test(name) && whole !== undefined) return `${name} would work on ${whole} as a whole`;
  if (name === "dd" && places.some((place) => place.startsWith("of=") && systemFile.test(place)))
    return "dd would overwrite a part of the machine";
  return isPiped && interpreter.test(name) && places.length === 0
    ? `${name} would run what comes from a pipe, which nobody sees`
    : undefined;
}
