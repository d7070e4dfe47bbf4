/**
 * Files that steer tools and programs: changing one needs a confirmation. Everything in `.git` counts, since its hooks
 * and configuration are run by git.
 */
const names = new Set([
  ".gitignore",
  ".gitattributes",
  ".gitmodules",
  ".npmrc",
  ".editorconfig",
  ".dockerignore",
  "package.json",
  "package-lock.json",
  "pnpm-lock.yaml",
  "yarn.lock",
  "langgraph.json",
  "pyproject.toml",
  "requirements.txt",
  "cargo.toml",
  "go.mod",
  "makefile",
  "dockerfile",
  "deno.json",
  "biome.json",
]);
const patterns = [
  /^\.env(\..+)?$/,
  /^\..+rc(\.(json|ya?ml|[cm]?js|toml))?$/,
  /^tsconfig.*\.json$/,
  /^config\.(json|ya?ml|toml|ini)$/,
  /\.config\.([cm]?[jt]s|json|ya?ml|toml)$/,
  /^(docker-)?compose.*\.ya?ml$/,
];
const folders = new Set([".git", ".github", ".vscode", ".husky"]);

/** Whether a path lies in a folder whose very files are run by others, so that a new one matters too. */
export function isInCriticalFolder(path: string): boolean {
  return path
    .toLowerCase()
    .split("/")
    .some((part) => folders.has(part));
}

/** Whether a path of the workspace names a critical file; case does not count. */
export function isCritical(path: string): boolean {
  const name = path.toLowerCase().split("/").at(-1) ?? "";
  return isInCriticalFolder(path) || names.has(name) || patterns.some((pattern) => pattern.test(name));
}
