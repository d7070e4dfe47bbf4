import { copyFileSync, existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";

/** A whole number from 0 up to the limit, which is excluded. */
type Below = (limit: number) => number;

function flip(file: string, random: Below, within = Infinity): string {
  const bytes = readFileSync(file);
  const at = random(Math.min(bytes.length, within));
  const count = 1 + random(16);
  for (let index = at; index < Math.min(bytes.length, at + count); index += 1)
    bytes[index] = (bytes[index] ?? 0) ^ (1 + random(255));
  writeFileSync(file, bytes);
  return `${count} bytes at ${at}`;
}

function cut(file: string, random: Below): string {
  const { size } = statSync(file);
  const left = random(size);
  truncateSync(file, left);
  return `${left} of ${size} bytes left`;
}

/** Replaces a page by another one of the same file: every page is valid, the file is not. */
function exchange(file: string, random: Below): string {
  const bytes = readFileSync(file);
  const pages = Math.floor(bytes.length / 8192);
  const [from, to] = [random(pages), random(pages)];
  bytes.copyWithin(to * 8192, from * 8192, from * 8192 + 8192);
  writeFileSync(file, bytes);
  return `page ${from} over page ${to}`;
}

/** The inputs of a damage. */
interface DamageTools {
  random: Below;
  /** A database with other content. */
  other: string;
}

/** The ways to damage a closed database file, by name; each returns a description. */
export const damages: Record<string, (file: string, tools: DamageTools) => string> = {
  "bytes flipped": (file, { random }) => flip(file, random),
  "its header flipped": (file, { random }) => flip(file, random, 100),
  "a page over another": (file, { random }) => exchange(file, random),
  "cut short": (file, { random }) => cut(file, random),
  emptied: (file) => {
    truncateSync(file, 0);
    return "0 bytes left";
  },
  "another database in its place": (file, { other }) => {
    copyFileSync(other, file);
    return "swapped";
  },
  "its log cut": (file, { random }) => (existsSync(`${file}-wal`) ? cut(`${file}-wal`, random) : flip(file, random)),
  "its log flipped": (file, { random }) =>
    existsSync(`${file}-wal`) ? flip(`${file}-wal`, random) : cut(file, random),
  "its log gone": (file, { random }) => {
    if (!existsSync(`${file}-wal`)) return flip(file, random);
    rmSync(`${file}-wal`);
    return "removed";
  },
};
