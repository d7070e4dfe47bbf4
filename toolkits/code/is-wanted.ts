import type { Toolkit } from "../../src/toolkits/toolkit.ts";

/** Files and folders in the root of a code project. */
const projectFiles = /^(?:package\.json|pyproject\.toml|setup\.py|cargo\.toml|go\.mod|pom\.xml|makefile|\.git|src)$/iu;

const words = /\b(?:code|functions?|class(?:es)?|modules?|repository|bugs?)\b|代码|函数/iu;

/** Whether the workspace is a code project, or the request is about code. */
export const isWanted: NonNullable<Toolkit["isWanted"]> = ({ request, entries }) =>
  entries.some((name) => projectFiles.test(name)) || words.test(request);
