import BookOpen from "icon:book-open";
import Plug from "icon:plug";
import Plus from "icon:plus";
import Wrench from "icon:wrench";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation, useSearch } from "wouter";
import { useCaller } from "../../api/threads.ts";
import { libraryAddress, mcpAddress, toolAddress } from "../../app/addresses.ts";
import { Button } from "../../parts/button.tsx";
import { Empty } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { AddLibrary } from "../library-docs/add-library.tsx";
import { LibraryList } from "../library-docs/library-list.tsx";
import { LibraryRepository, LibraryView } from "../library-docs/library-view.tsx";
import { ListAndOne } from "../list-and-one.tsx";
import { McpList } from "../mcp/mcp-list.tsx";
import { McpView } from "../mcp/mcp-view.tsx";
import { NewMcpServer } from "../mcp/new-mcp-server.tsx";
import { ReadOnly } from "../read-only.tsx";
import { ToolList } from "./tool-list.tsx";
import { ToolView } from "./tool-view.tsx";

/** What of the assistant's means is shown: its tools, servers that bring more, or documentation that it reads. */
type Part = "tools" | "mcp" | "docs";

const addressOf = { tools: toolAddress, mcp: mcpAddress, docs: libraryAddress };

/** What the assistant can do: each tool, the MCP servers that bring more of them, and documentation of libraries. */
export function ToolsPage({ part, name: named }: { part: Part; name?: string | undefined }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const library = new URLSearchParams(useSearch()).get("library") ?? undefined;
  const name = part === "docs" ? library : named;
  const mayChange = useCaller().data?.may_administer === true;
  const [isAdding, setAdding] = useState(false);
  const open = (one: string) => navigate(addressOf[part](one));
  const lists = {
    tools: <ToolList current={name} onOpen={open} />,
    mcp: <McpList current={name} onOpen={open} />,
    docs: (
      <>
        <LibraryList current={name} onOpen={open} />
        <LibraryRepository />
      </>
    ),
  };
  return (
    <>
      <ListAndOne
        title={t("tools.title")}
        segments={(["tools", "mcp", "docs"] as const).map((one) => ({
          label: t(`tools.part.${one}`),
          address: addressOf[one](),
          isHere: one === part,
        }))}
        segmentsLabel={t("tools.parts")}
        back={addressOf[part]()}
        isOpen={name !== undefined}
        actions={
          mayChange &&
          part !== "tools" && (
            <Button size="small" onClick={() => setAdding(true)}>
              <Plus size={15} /> {t(part === "mcp" ? "mcp.add" : "libraries.add")}
            </Button>
          )
        }
        note={part === "docs" && <ReadOnly />}
        list={lists[part]}
      >
        {name === undefined ? <Nothing part={part} /> : <One key={name} part={part} name={name} />}
      </ListAndOne>
      {isAdding && part === "mcp" && <NewMcpServer onClose={() => setAdding(false)} />}
      {isAdding && part === "docs" && <AddLibrary onClose={() => setAdding(false)} />}
    </>
  );
}

function One({ part, name }: { part: Part; name: string }) {
  if (part === "tools") return <ToolView name={name} />;
  return part === "mcp" ? <McpView name={name} /> : <LibraryView name={name} />;
}

/** What is shown until something is chosen. */
function Nothing({ part }: { part: Part }) {
  const { t } = useTranslation(manage);
  if (part === "tools") return <Empty icon={<Wrench />} title={t("tools.choose")} hint={t("tools.chooseHint")} />;
  if (part === "mcp") return <Empty icon={<Plug />} title={t("mcp.choose")} hint={t("mcp.chooseHint")} />;
  return <Empty icon={<BookOpen />} title={t("libraries.choose")} hint={t("libraries.chooseHint")} />;
}
