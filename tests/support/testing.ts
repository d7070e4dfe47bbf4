export {
  ModelServer,
  refusingAddress,
  startModelServer,
  wireText,
  type ModelRequest,
  type ModelServerOptions,
  type ModelStep,
  type ScriptedToolCall,
  type WireMessage,
} from "@millrace/testing/model-server";
export type { ModelFault } from "@millrace/testing/model-server-script";
export { startTestServer, type TestServer } from "./test-server.ts";
export { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "./workflow.ts";
