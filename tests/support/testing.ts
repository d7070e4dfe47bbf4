export {
  ModelServer,
  startModelServer,
  wireText,
  type ModelRequest,
  type ModelStep,
} from "@millrace/testing/model-server";
export { startTestServer, type TestServer } from "./test-server.ts";
export { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "./workflow.ts";
