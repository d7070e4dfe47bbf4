import { simpleCommands, startedBy, type SimpleCommand } from "./simple-commands.ts";

/** Programs that reach beyond the user's rights, or into the machine itself, whatever they are given. */
const forbidden: Readonly<Record<string, string>> = {
  ...named("takes the rights of another user", [
    "sudo",
    "su",
    "doas",
    "pkexec",
    "runuser",
    "setpriv",
    "nsenter",
    "chroot",
    "capsh",
    "newgrp",
  ]),
  ...named("turns the machine off", ["shutdown", "reboot", "halt", "poweroff", "telinit", "init", "kexec"]),
  ...named("destroys or changes disks", [
    "fdisk",
    "sfdisk",
    "cfdisk",
    "gdisk",
    "sgdisk",
    "parted",
    "wipefs",
    "blkdiscard",
    "mkswap",
    "swapoff",
    "swapon",
    "mount",
    "umount",
    "losetup",
    "cryptsetup",
    "lvremove",
    "vgremove",
    "pvremove",
    "mdadm",
    "hdparm",
    "debugfs",
    "badblocks",
    "format",
  ]),
  ...named("changes the kernel or the network of the machine", [
    "insmod",
    "rmmod",
    "modprobe",
    "sysctl",
    "iptables",
    "ip6tables",
    "nft",
    "ufw",
    "ifconfig",
    "setcap",
  ]),
  ...named("changes the users of the machine", [
    "passwd",
    "chpasswd",
    "useradd",
    "userdel",
    "usermod",
    "adduser",
    "deluser",
    "groupadd",
    "groupdel",
    "visudo",
    "chsh",
    "vipw",
  ]),
  ...named("changes what the machine starts by itself", [
    "systemctl",
    "service",
    "crontab",
    "at",
    "batch",
    "launchctl",
    "update-rc.d",
    "chkconfig",
    "initctl",
  ]),
  ...named("ends programs of others", ["killall", "pkill", "skill", "slay"]),
  ...named("runs what cannot be seen", ["eval", "source", ".", "alias", "trap", "enable", "bind"]),
};

/** Variables that make other programs run something else than they are. */
const steering =
  /^(?:LD_\w+|DYLD_\w+|PATH|IFS|ENV|BASH_ENV|BASH_FUNC\w*|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|GIT_\w+|NODE_OPTIONS|NODE_PATH|PYTHON\w+|PERL5?\w+|RUBY\w+|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|EDITOR|VISUAL|PAGER|LESSOPEN|LESSCLOSE|MANPAGER|BROWSER|SSH_ASKPASS|npm_config_\w+|GCONV_PATH|HOSTALIASES|TERMINFO|CDPATH|HOME)$/u;
/** Programs that run what they read from their input. */
const readers =
  /^(?:(?:ba|z|da|k|c|tc|fi|a|mk|pdk)?sh|python[\d.]*|perl[\d.]*|ruby[\d.]*|node|nodejs|deno|bun|php[\d.]*|lua[\d.]*|tclsh|osascript|pwsh|powershell)$/u;
const fetchers = /^(?:curl|wget|fetch|aria2c|nc|ncat|netcat|socat|telnet|ftp|tftp|lynx)$/u;

/** The places that a command may not delete, empty or change as a whole. */
const wholePlaces =
  /^(?:\/|\/\*|~\/?|~\/\*|~\w+\/?|\$\{?HOME\}?\/?\*?|\$\{?PWD\}?\/?\*?|\.|\.\/|\.\/\*|\.\.|\*|\.\*|\.\[!.\]\*|\.\/\.\*|\/[\w.-]+\/?\*?|[A-Za-z]:[\\/]?\*?)$/u;
/** Places of the machine and of the user that are written by nobody but them. */
const systemPlaces =
  /^(?:(?:\/(?:etc|boot|bin|sbin|lib\w*|usr|sys|proc|root|run|var\/(?:spool|lib|run)|System|Library|Windows)(?:\/|$))|\/dev\/(?!null$|stdout$|stderr$|tty$|zero$|fd\/)|(?:~|\$\{?HOME\}?|\/home\/[^/]+|\/Users\/[^/]+)\/\.(?:ssh|gnupg|aws|bash\w*|zsh\w*|profile|config|netrc|npmrc|gitconfig|kube|docker|local)|~\/?$)/u;

/** The number of commands in one, above which nobody reads them. */
const mostCommands = 20;

/** A program whose name is the output of another one. */
const substituted = /(?:^|[;&|\n({!]|\b(?:then|do|else|exec|env|command))\s*["']?(?:\$\(|`)/u;

/**
 * Why a command is refused whatever anybody says; `undefined` when it may be asked about. `words` are given where no
 * shell reads it. A list of what is bad is never whole: what is not on it still waits for a person's yes.
 */
export function harmfulCommand(command: string, words?: readonly string[]): string | undefined {
  if (words === undefined) {
    if (command.split("}").some(startsItself)) return "it starts itself again and again";
    if (substituted.test(command)) return "it hides which program runs";
  }
  const all = words === undefined ? simpleCommands(command) : startedBy(words);
  const commands = all.take(mostCommands + 1).toArray();
  if (commands.length > mostCommands) return `it holds more than ${mostCommands} commands, more than anybody reads`;
  for (const one of commands) {
    const reason = harmOf(one);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** Whether a function is written in the text that pipes something and goes on without waiting for it. */
function startsItself(text: string): boolean {
  const begin = text.search(/\(\)\s*\{/u);
  const pipe = begin === -1 ? -1 : text.indexOf("|", begin);
  return pipe !== -1 && text.includes("&", pipe);
}

function harmOf(command: SimpleCommand): string | undefined {
  const { name, words, isPiped, assigned, writes } = command;
  const steered = assigned.find((variable) => steering.test(variable));
  if (steered !== undefined) return `it sets ${steered}, which makes programs run something else`;
  const written = writes.find((place) => systemPlaces.test(place));
  if (written !== undefined) return `it writes to ${written}`;
  if (name === "") return undefined;
  if (!/^[\w./+@:,=%\\~-]+$/u.test(words[0] ?? "")) return "it hides which program runs";
  const why = Object.hasOwn(forbidden, name) ? forbidden[name] : undefined;
  if (why !== undefined) return `${name} ${why}`;
  if (/^mkfs(?:\.|$)|^mke2fs$/u.test(name)) return `${name} destroys or changes disks`;
  if (isPiped && readers.test(name) && !words.slice(1).some((word) => !word.startsWith("-"))) {
    return `${name} would run what comes from a pipe, which nobody sees`;
  }
  return byArguments(command);
}

/** Programs that delete, move or open what they are given, and those that write to it. */
const movers = new Set("rm rmdir unlink shred srm truncate chmod chown chgrp mv rd del".split(" "));
const writers = new Set("cp install ln tee rsync touch mkdir sed".split(" "));

function byArguments({ name, words, text }: SimpleCommand): string | undefined {
  const given = words.slice(1);
  const places = given.filter((word) => !word.startsWith("-"));
  const whole = places.find((place) => isWhole(place));
  if (movers.has(name) && whole !== undefined) return `${name} would work on ${whole} as a whole`;
  if (movers.has(name) || writers.has(name)) return placed(name, places);
  if (fetchers.test(name) && givesShell.test(text)) return `${name} would give a shell to the network`;
  switch (name) {
    case "find":
      return whole !== undefined && whole !== "." && given.some((word) => finderActions.test(word))
        ? `find would delete or run something in all of ${whole}`
        : undefined;
    case "dd":
      return given.some((word) => word.startsWith("of=") && systemPlaces.test(word.slice(3)))
        ? "dd would overwrite a part of the machine"
        : undefined;
    case "kill":
      return places.includes("1") || given.includes("-1") ? "kill would end programs of others" : undefined;
    case "git":
      return given.some((word, index) => steersGit(word, given[index + 1] ?? ""))
        ? "git would run a program that its settings name"
        : undefined;
    case "docker":
    case "podman":
      return opensMachine.test(text) ? `${name} would open the machine to a container` : undefined;
    default:
      return undefined;
  }
}

const finderActions = /^-(?:delete|exec|execdir|ok|okdir|fprint\w*|fls)$/u;
const givesShell = /(?:^|\s)-[a-z]*e[a-z]*(?:\s|$).*sh\b|EXEC:/u;
const opensMachine =
  /--privileged|--pid[= ]host|--net(?:work)?[= ]host|(?:-v|--volume|--mount)[= ][^ ]*(?:\/:|source=\/,|docker\.sock)/u;
const gitSettings = /^(?:-c|--config-env|--exec-path|--upload-pack|--receive-pack|--exec)(?:=|$)/u;
const plainSettings = /^(?:user\.(?:name|email)|color\.\w+|advice\.\w+)=/u;

/** Whether an option lets git run other programs; its settings may, but a name or a colour does not. */
function steersGit(word: string, next: string): boolean {
  return gitSettings.test(word) && !(word === "-c" && plainSettings.test(next));
}

function placed(name: string, places: readonly string[]): string | undefined {
  const place = places.find((one) => systemPlaces.test(one));
  return place === undefined ? undefined : `${name} would change ${place}`;
}

/** Whether a path is all of something, also when it goes there by detours. */
function isWhole(path: string): boolean {
  const plain = path
    .replaceAll(/\/{2,}/gu, "/")
    .replaceAll(/\/(?:\.\/)+/gu, "/")
    .replace(/(?<=.)\/\.$/u, "");
  return wholePlaces.test(plain) || /^(?:\.\.\/)+(?:\.\.|\*)?$/u.test(plain) || /(?:^|\/)\.\.(?:\/|$)/u.test(plain);
}

function named(reason: string, programs: readonly string[]): Record<string, string> {
  return Object.fromEntries(programs.map((program) => [program, reason]));
}
