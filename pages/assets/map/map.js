// Draws places on a Leaflet map: in the page's frame, and in the downloaded HTML map.
// Every text becomes a text node or an attribute: outside text is never markup or code.
// sightline.show(map, data, selection) may be called repeatedly: unchanged layers stay, and the view
// moves only if other places are shown or a place is selected outside the map.

const sightline = (() => {
  const FIT_OPTIONS = { paddingTopLeft: [18, 18], paddingBottomRight: [48, 18], maxZoom: 16, animate: false };
  const MAX_LABELLED_ROUTES = 6; // with more, labels are tooltips
  const MAX_NAMED_PINS = 150; // in view; with more, no names are drawn

  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text) node.textContent = text;
    return node;
  };

  const link = (text, url) => {
    const node = make("a", "", text);
    if (/^https?:\/\/[^\s\\]+$/i.test(url)) {
      node.href = url;
      node.target = "_blank";
      node.rel = "noopener noreferrer";
    }
    return node;
  };

  const Pin = L.DivIcon.extend({
    createIcon() {
      const { n, name, colour } = this.options;
      const pin = make("div");
      const dot = make("span", "sl-dot", String(n));
      dot.style.background = colour;
      const label = make("bdi", "sl-name", name);
      pin.append(dot, label);
      pin.setAttribute("aria-label", `${n} ${name}`);
      this._setIconStyles(pin, "icon");
      return pin;
    },
  });

  const Grid = L.GridLayer.extend({ createTile: () => make("div", "sl-cell") });

  const createMarker = (point, n, data, className) => {
    const [lat, lng, kind, name] = point;
    const icon = new Pin({ n, name, colour: data.colours[kind], iconSize: [26, 26], className });
    return L.marker([lat, lng], { icon, riseOnHover: true });
  };

  // The content of the popup of a place: its details if they were sent, else its summary.
  const popupContent = (data, n, details) => {
    const [, , , name, note, lines = details?.lines, links = details?.links] = data.points[n - 1];
    const box = make("div", "sl-balloon");
    const head = make("strong", "", `${n} `);
    head.append(make("bdi", "", name));
    box.append(head);
    for (const line of lines ?? [note]) if (line) box.append(make("div", "", line));
    const linkLine = make("div", "sl-ways");
    for (const [text, url] of links ?? []) linkLine.append(link(text, url));
    if (linkLine.childElementCount) box.append(linkLine);
    return box;
  };

  // Hides the names that would cover a pin or another name.
  const hideCoveredNames = (map) => {
    const pins = [...map.getContainer().querySelectorAll(".sl-pin")];
    map.getContainer().classList.toggle("sl-nameless", pins.length > MAX_NAMED_PINS);
    if (pins.length > MAX_NAMED_PINS) return;
    const occupied = [...map.getContainer().querySelectorAll(".sl-dot, .sl-cluster")].map((dot) =>
      dot.getBoundingClientRect());
    pins.sort((a, b) => b.classList.contains("sl-picked") - a.classList.contains("sl-picked"));
    for (const pin of pins) {
      const name = pin.querySelector(".sl-name");
      const box = name.getBoundingClientRect();
      const isFree = occupied.every((other) =>
        other.right <= box.left || other.left >= box.right ||
        other.bottom <= box.top || other.top >= box.bottom);
      name.classList.toggle("sl-covered", !isFree);
      if (isFree) occupied.push(box);
    }
  };

  const scheduleNames = (map) => {
    cancelAnimationFrame(map.sightline.frame);
    map.sightline.frame = requestAnimationFrame(() => hideCoveredNames(map));
  };

  const fitView = (map) => {
    const { data } = map.sightline;
    const bounds = L.latLngBounds(data.points.map(([lat, lng]) => [lat, lng]));
    for (const { line } of data.ways) for (const point of line) bounds.extend(point);
    for (const [lat, lng, radius] of data.circles) {
      bounds.extend(L.latLng(lat, lng).toBounds(2 * Math.max(radius, 50)));
    }
    map.sightline.isFitted = map.getSize().x > 0 && map.getSize().y > 0;
    if (bounds.isValid()) map.fitBounds(bounds, FIT_OPTIONS);
  };

  // Follows the theme of the page: it is dark if the text is light. 1280 is half of the weighted maximum.
  const updateTheme = () => {
    const ink = getComputedStyle(document.body).color.match(/[\d.]+/g);
    document.documentElement.classList.toggle("sl-dark", ink[0] * 3 + ink[1] * 6 + +ink[2] > 1280);
  };

  const prepare = (map) => {
    const state = { layers: L.layerGroup().addTo(map), base: L.layerGroup().addTo(map) };
    map.sightline = state;
    const box = map.getContainer(); // Leaflet focuses it at a click, which would scroll the page
    box.focus = () => HTMLElement.prototype.focus.call(box, { preventScroll: true });
    map.attributionControl.setPrefix(
      '<a href="https://leafletjs.com" target="_blank" rel="noopener">Leaflet</a>');
    new Grid({ pane: "tilePane", zIndex: 0 }).addTo(map);
    state.tip = L.tooltip({ direction: "top", offset: [0, -12], className: "sl-tip" });
    state.popup = L.popup({ offset: [0, -6], maxWidth: 280, minWidth: 160, maxHeight: 230 });
    map.on("moveend zoomend", () => scheduleNames(map));
    map.on("click", ({ latlng }) => handleMapClick(map, latlng.wrap()));
    new ResizeObserver(() => {
      map.invalidateSize({ pan: false });
      if (!state.isFitted && state.data) fitView(map);
    }).observe(map.getContainer());
    addEventListener("message", () => setTimeout(updateTheme));
    updateTheme();
    return state;
  };

  const drawBaseMap = (map, tiles) => {
    const state = map.sightline;
    const fingerprint = JSON.stringify(tiles);
    if (state.tiles === fingerprint) return;
    state.tiles = fingerprint;
    state.base.clearLayers();
    map.getContainer().classList.toggle("sl-bare", !tiles);
    if (state.note) state.note.remove();
    if (!tiles) return;
    const { url, lost, ...options } = tiles;
    const layer = L.tileLayer(url, { ...options, className: "sl-tiles" });
    state.note = L.control({ position: "topright" });
    state.note.onAdd = () => make("div", "sl-lost", lost);
    layer.on("tileerror", () => state.note._map || state.note.addTo(map));
    layer.on("tileload", () => state.note.remove());
    state.base.addLayer(layer);
  };

  // Returns the point at a share (0 to 1) of the length of a line.
  const pointAtShare = (line, share) => {
    const distance = ([a, b], [c, d]) => Math.hypot(c - a, (d - b) * Math.cos((a * Math.PI) / 180));
    const lengths = line.slice(1).map((point, n) => distance(line[n], point));
    let rest = share * lengths.reduce((sum, length) => sum + length, 0);
    for (const [n, length] of lengths.entries()) {
      if (length && rest <= length) {
        return line[n].map((part, axis) => part + (rest / length) * (line[n + 1][axis] - part));
      }
      rest -= length;
    }
    return line[line.length - 1];
  };

  // Draws a route in the pattern of its travel mode, with a label or, among many routes, a tooltip.
  const drawRoute = (state, { line, means, direct, name, ends }, index, routeCount) => {
    const routeClass = `sl-way sl-${means}${direct ? " sl-direct" : ""}`;
    for (const className of ["sl-casing", routeClass]) {
      state.layers.addLayer(L.polyline(line, { interactive: false, className }));
    }
    if (means === "transit" && !direct) {
      state.layers.addLayer(L.polyline(line, { interactive: false, className: "sl-sleepers" }));
    }
    if (routeCount <= MAX_LABELLED_ROUTES) {
      const icon = L.divIcon({ html: make("span", "", name), className: "sl-length", iconSize: [0, 0] });
      const labelPoint = pointAtShare(line, (index + 1) / (routeCount + 1));
      state.layers.addLayer(L.marker(labelPoint, { icon, interactive: false, keyboard: false }));
      return;
    }
    const label = make("div");
    label.append(make("b", "", `${name} `), make("bdi", "", ends));
    const touchLine = L.polyline(line, { className: "sl-touch" });
    state.layers.addLayer(touchLine.bindTooltip(label, { sticky: true, className: "sl-tip" }));
  };

  const draw = (map, data) => {
    const state = map.sightline;
    if (state.data?.of === data.of) return;
    const isNewView = state.data?.view !== data.view;
    for (const credit of state.data?.credits ?? []) map.attributionControl.removeAttribution(credit);
    for (const credit of data.credits) map.attributionControl.addAttribution(credit);
    state.data = data;
    state.layers.clearLayers();
    state.selected = undefined;
    map.closePopup(state.popup);
    if (isNewView) fitView(map);
    for (const [lat, lng, radius, name] of data.circles) {
      if (radius) {
        state.layers.addLayer(L.circle([lat, lng], { radius, interactive: false, className: "sl-circle" }));
      }
      const icon = L.divIcon({ html: make("bdi", "", name), className: "sl-centre", iconSize: [14, 14] });
      state.layers.addLayer(L.marker([lat, lng], { icon, interactive: false, keyboard: false }));
    }
    data.ways.forEach((route, n) => drawRoute(state, route, n, data.ways.length));
    const markers = data.points.map((point, index) => {
      const marker = createMarker(point, index + 1, data, "sl-pin");
      marker.sightline = index + 1;
      return marker;
    });
    const group = data.ordered ? L.featureGroup(markers) : L.markerClusterGroup({
      chunkedLoading: markers.length > 2000,
      maxClusterRadius: markers.length > 200 ? 60 : 26,
      showCoverageOnHover: false,
      iconCreateFunction: (cluster) => L.divIcon({
        html: make("span", "", String(cluster.getChildCount())),
        className: "sl-cluster",
        iconSize: cluster.getChildCount() > 99 ? [40, 40] : [34, 34],
      }),
    });
    if (!data.ordered) group.addLayers(markers);
    group.on("click", ({ layer }) => selectPlace(map, layer.sightline));
    group.on("mouseover", ({ layer }) => showTooltip(map, layer));
    group.on("mouseout", () => state.tip.remove());
    group.on("animationend", () => scheduleNames(map));
    state.layers.addLayer(group);
    scheduleNames(map);
  };

  const showTooltip = (map, marker) => {
    const [, , , name, note] = map.sightline.data.points[marker.sightline - 1];
    const box = make("div");
    box.append(make("b", "", `${marker.sightline} `), make("bdi", "", name));
    if (note) box.append(make("div", "", note));
    map.sightline.tip.setContent(box).setLatLng(marker.getLatLng()).addTo(map);
  };

  const drawSelection = (map, n) => {
    const state = map.sightline;
    if (state.selected?.sightline === n) return;
    state.selected?.remove();
    state.selected = undefined;
    if (!n) return;
    state.selected = createMarker(state.data.points[n - 1], n, state.data, "sl-pin sl-picked");
    state.selected.setZIndexOffset(2000);
    state.selected.sightline = n;
    state.selected.on("click", () => selectPlace(map, n));
    state.layers.addLayer(state.selected);
    scheduleNames(map);
  };

  const openPopup = (map, n, details, autoPan) => {
    const { popup, data, tip } = map.sightline;
    tip.remove();
    popup.options.autoPan = autoPan;
    popup.place = n;
    const [lat, lng] = data.points[n - 1];
    popup.setLatLng([lat, lng]).setContent(popupContent(data, n, details)).openOn(map);
  };

  // Handles a click on a marker: selects the place at once and sends it to the server.
  const selectPlace = (map, n) => {
    const state = map.sightline;
    state.turn = Date.now();
    drawSelection(map, n);
    openPopup(map, n, undefined, true);
    sightline.notify({ n, of: state.data.of, turn: state.turn });
  };

  // Handles a click beside the places: sends it to the server if the page uses such clicks.
  const handleMapClick = (map, { lat, lng }) => {
    const { data } = map.sightline;
    if (data?.clicks) sightline.notify({ at: [lat, lng], of: data.of, turn: Date.now() });
  };

  // Shows the selection of the server, unless the visitor has clicked since.
  const applySelection = (map, selection) => {
    const state = map.sightline;
    const n = selection && state.data.points[selection.n - 1] ? selection.n : 0;
    if (n && selection.turn < state.turn) return;
    drawSelection(map, n);
    if (!n) {
      map.closePopup(state.popup);
    } else if (selection.turn !== state.turn) {
      state.turn = selection.turn;
      const [lat, lng] = state.data.points[n - 1];
      openPopup(map, n, selection, false);
      map.panTo([lat, lng]);
    } else if (state.popup.isOpen() && state.popup.place === n && selection.lines) {
      state.popup.setContent(popupContent(state.data, n, selection));
    }
  };

  const show = (map, data, selection) => {
    if (!map.sightline) prepare(map);
    map.getContainer().lang = data.lang;
    map.getContainer().classList.toggle("sl-clicks", data.clicks);
    drawBaseMap(map, data.tiles);
    draw(map, data);
    applySelection(map, selection);
  };

  return { show, notify: (choice) => window.Streamlit?.setComponentValue(choice) };
})();
window.sightline = sightline;
