// Starts the downloaded HTML map: connects the map and its list, which have no server between them.
(() => {
  const { map: data, list } = JSON.parse(document.getElementById("data").textContent);
  const map = L.map("map", { center: [35, 105], zoom: 4, maxZoom: 19 });
  L.control.scale().addTo(map);
  const parentElement = document.getElementById("list");
  const drawList = (picked) => sightline.list({ data: { ...list, picked }, parentElement, setTriggerValue });
  const setTriggerValue = (_, { n, turn }) => sightline.show(map, data, { n, turn });
  sightline.notify = ({ n }) => drawList(n);
  sightline.show(map, data, null);
  drawList(0);
})();
