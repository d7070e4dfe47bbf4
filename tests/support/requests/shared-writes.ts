import { toolkits } from "../../../src/toolkits/index.ts";
import { administeredOfToolkits } from "../toolkit-writes.ts";

/** Writes of what all callers share, each with a body: no user of the rules changes it. */
export const administered: Record<string, object | undefined> = {
  "DELETE /agents/{name}": undefined,
  "DELETE /identity": undefined,
  "DELETE /models/{name}": undefined,
  "DELETE /prompts/{name}": undefined,
  "DELETE /providers/{name}": undefined,
  "DELETE /providers/{name}/key": undefined,
  "DELETE /rules/{name}": undefined,
  "PATCH /models/{name}": { vision: true },
  "PATCH /settings": {},
  "POST /models": { name: "openai:x" },
  "POST /models/{name}/test": undefined,
  "POST /prompts/reload": undefined,
  "PUT /agents/{name}": { text: "x" },
  "PUT /identity": { content: "x" },
  "PUT /models/roles": { main: "offline" },
  "PUT /prompts/{name}": { content: "x" },
  "PUT /providers/{name}": {},
  "PUT /providers/{name}/key": { key: "x" },
  "PUT /rules/{name}": { text: "x" },
  ...Object.assign({}, ...toolkits.map(({ name }) => administeredOfToolkits[name])),
};
