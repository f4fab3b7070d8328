import { MemoryStore } from "../../../../src/machinery/storage/backends/memory.ts";
import { testStore } from "../store-contract.ts";

testStore("memory", async () => {
  const store = new MemoryStore();
  return { store, dispose: () => store.close() };
});
