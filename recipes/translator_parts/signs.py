"""Signs, buttons and words alone, of our own, Spanish and English: what Tatoeba's pairs, which are sentences, lack.

`SIGNS` may stand with or without a mark; `{…}` are slots of `phrases`. `CHECKED` are measured, and never trained on.
"""

SIGNS = """
Salida | Exit
Entrada | Entrance
Salida de emergencia | Emergency exit
Peligro | Danger
Peligro de muerte | Danger of death
Cuidado | Caution
Cuidado con el perro | Beware of the dog
Cuidado con el escalón | Mind the step
Abierto | Open
Cerrado | Closed
Cerrado los {ws} | Closed on {ws}
Abierto de {w} a {w2} | Open {w} to {w2}
Abierto de {T} a {T2} | Open from {T} to {T2}
Empujar | Push
Tirar | Pull
Prohibido el paso | No entry
Prohibido aparcar | No parking
Prohibido nadar | No swimming
Prohibido tocar | Do not touch
Prohibida la entrada | No entry
No tocar | Do not touch
No pisar el césped | Keep off the grass
No molestar | Do not disturb
Se vende | For sale
Se alquila | For rent
Ocupado | Occupied
Libre | Free
Reservado | Reserved
Fuera de servicio | Out of order
En obras | Under construction
Privado | Private
Propiedad privada | Private property
Servicios | Restrooms
Baño | Bathroom
Caballeros | Gentlemen
Damas | Ladies
Hombres | Men
Mujeres | Women
Ascensor | Elevator
Escaleras | Stairs
Planta baja | Ground floor
Primer piso | First floor
Segunda planta | Second floor
Sótano | Basement
Información | Information
Taquilla | Ticket office
Caja | Cashier
Rebajas | Sale
Oferta | Offer
Gratis | Free
Precio | Price
Total | Total
Horario | Opening hours
Dirección | Address
Parada de autobús | Bus stop
Estación de tren | Train station
Aeropuerto | Airport
Llegadas | Arrivals
Retrasado | Delayed
Cancelado | Canceled
Puerta {n} | Gate {n}
Andén {n} | Platform {n}
Habitación {n} | Room {n}
Página {n} | Page {n}
Capítulo {n} | Chapter {n}
Línea {n} | Line {n}
Calle {l}, {n} | {n} {l} Street
Farmacia | Pharmacy
Panadería | Bakery
Carnicería | Butcher's shop
Librería | Bookstore
Biblioteca | Library
Ayuntamiento | Town hall
Comisaría | Police station
Correos | Post office
Museo de Arte | Art Museum
Alto | Stop
Ceda el paso | Yield
Despacio | Slow
Silencio | Silence
Gracias por su visita | Thank you for your visit
Gracias por su compra | Thank you for your purchase
Bienvenido | Welcome
Bienvenidos a {c} | Welcome to {c}
Bienvenido a {C} | Welcome to {C}
Feliz cumpleaños | Happy birthday
Feliz cumpleaños, {p} | Happy birthday, {p}
Feliz Navidad | Merry Christmas
Feliz Año Nuevo | Happy New Year
Felicidades | Congratulations
Enhorabuena | Congratulations
Buena suerte | Good luck
Buen viaje | Have a good trip
Buen provecho | Enjoy your meal
Salud | Cheers
Socorro | Help
Ayuda | Help
Fuego | Fire
Atención | Attention
Aviso | Notice
Importante | Important
Urgente | Urgent
Agua potable | Drinking water
Agua no potable | Not drinking water
Alta tensión | High voltage
Desayuno | Breakfast
Almuerzo | Lunch
Cena | Dinner
Menú del día | Menu of the day
Postres | Desserts
Bebidas | Drinks
Ensalada mixta | Mixed salad
Sopa de verduras | Vegetable soup
Pollo asado con patatas | Roast chicken with potatoes
Vino tinto | Red wine
Vino blanco | White wine
Agua con gas | Sparkling water
Café con leche | Coffee with milk
Zumo de naranja | Orange juice
Aceptar | Accept
Cancelar | Cancel
Guardar | Save
Guardar como | Save as
Guardar cambios | Save changes
Abrir | Open
Cerrar | Close
Cerrar sesión | Log out
Iniciar sesión | Log in
Buscar | Search
Enviar | Send
Enviar mensaje | Send message
Imprimir | Print
Copiar | Copy
Pegar | Paste
Cortar | Cut
Deshacer | Undo
Borrar | Delete
Eliminar | Delete
Eliminar archivo | Delete file
Editar | Edit
Descargar | Download
Descargar el archivo | Download the file
Subir | Upload
Siguiente | Next
Anterior | Previous
Atrás | Back
Continuar | Continue
Comenzar | Start
Inicio | Home
Volver al inicio | Back to home
Página principal | Home page
Configuración | Settings
Ajustes | Settings
Opciones | Options
Idioma | Language
Nombre | Name
Apellidos | Last name
Nombre de usuario | User name
Contraseña | Password
Contraseña olvidada | Forgotten password
Correo electrónico | E-mail
Número de teléfono | Phone number
Fecha de nacimiento | Date of birth
Código postal | Postal code
País | Country
Ciudad | City
Crear una cuenta | Create an account
Mi cuenta | My account
Carrito | Cart
Añadir al carrito | Add to cart
Comprar | Buy
Pagar | Pay
Pagar con tarjeta | Pay by card
Envío gratis | Free shipping
Términos y condiciones | Terms and conditions
Política de privacidad | Privacy policy
Preguntas frecuentes | Frequently asked questions
Contacto | Contact
Quiénes somos | About us
Leer más | Read more
Ver todo | See all
Compartir | Share
Comentarios | Comments
Noticias | News
Archivo | File
Carpeta | Folder
Carpeta nueva | New folder
Pantalla | Screen
Teclado | Keyboard
Ratón | Mouse
Impresora | Printer
Error | Error
Página no encontrada | Page not found
Archivo no encontrado | File not found
Sin conexión | No connection
Cargando | Loading
Espere, por favor | Please wait
Sí | Yes
No | No
Versión {n} | Version {n}
Resumen | Summary
Introducción | Introduction
Conclusión | Conclusion
Índice | Contents
Ejemplo | Example
Ejemplos | Examples
Nota | Note
Pregunta {n} | Question {n}
Respuesta | Answer
"""
BUTTONS = """
Haga clic en el botón para continuar. | Click the button to continue.
Haz clic aquí para descargar el archivo. | Click here to download the file.
Haga clic en el enlace para confirmar su cuenta. | Click the link to confirm your account.
Haz clic en el icono para abrir el menú. | Click the icon to open the menu.
Pulse el botón rojo para parar la máquina. | Press the red button to stop the machine.
Pulsa una tecla para seguir. | Press a key to continue.
Introduzca su contraseña. | Enter your password.
Introduce tu nombre de usuario y tu contraseña. | Enter your user name and password.
Introduzca su correo electrónico. | Enter your e-mail address.
La contraseña debe tener al menos {n} caracteres. | The password must have at least {n} characters.
La contraseña es incorrecta. | The password is incorrect.
¿Ha olvidado su contraseña? | Have you forgotten your password?
¿Olvidaste tu contraseña? | Did you forget your password?
¿Desea guardar los cambios? | Do you want to save the changes?
¿Seguro que quieres eliminar este archivo? | Are you sure you want to delete this file?
El archivo se ha guardado. | The file has been saved.
El archivo pesa {n} MB. | The file is {n} MB.
No se pudo abrir el archivo. | The file could not be opened.
No se pudo conectar con el servidor. | Could not connect to the server.
La página no existe. | The page does not exist.
Su mensaje ha sido enviado. | Your message has been sent.
Tu pedido ha sido enviado. | Your order has been shipped.
El pedido número {k} llegará el {w}. | Order number {k} will arrive on {w}.
Rellene el formulario y pulse Enviar. | Fill in the form and press Send.
Todos los campos son obligatorios. | All fields are required.
Seleccione un idioma. | Select a language.
Elige un color. | Choose a color.
Reinicie el ordenador. | Restart the computer.
Actualice la página. | Refresh the page.
La sesión ha caducado. | The session has expired.
Queda prohibido fumar en todo el edificio. | Smoking is prohibited throughout the building.
Se ruega silencio. | Silence, please.
No se admiten perros. | No dogs allowed.
Manténgase fuera del alcance de los niños. | Keep out of reach of children.
Disculpen las molestias. | We apologize for the inconvenience.
El tren con destino a {c} está a punto de salir. | The train to {c} is about to leave.
El vuelo a {c} sale por la puerta {n}. | The flight to {c} leaves from gate {n}.
El vuelo de {c} llega con {n} minutos de retraso. | The flight from {c} is {n} minutes late.
Próxima parada: {c}. | Next stop: {c}.
"""
MARKS = ("", "", "", "", ".", "!")
"""What a sign may end with; most signs that are filled in have no mark."""

CHECKED = """
Salida trasera | Rear exit / Back exit
Salida de incendios | Fire exit / Fire escape
Salida del museo | Museum exit
Entrada gratuita / Entrada libre | Free admission / Free entrance / Free entry
Prohibido fumar / No fumar | No smoking / Smoking prohibited / Smoking is prohibited
Prohibido correr / No correr | No running / Do not run / Running prohibited
Prohibido acampar / No acampar | No camping / Camping prohibited
Sala de espera | Waiting room
Sala de reuniones | Meeting room / Conference room
Parada de taxis | Taxi stand / Taxi rank / Taxi stop
Centro comercial | Shopping center / Shopping mall / Mall
Centro de la ciudad | City center / Downtown / Town center
Tercer piso / Tercera planta | Third floor
Llave de la habitación | Room key
Agua caliente | Hot water
Vino de la casa | House wine
Sopa de pescado | Fish soup
Café sin azúcar | Coffee without sugar
Zumo de manzana / Jugo de manzana | Apple juice
Arroz con verduras | Rice with vegetables
Precio total | Total price
Número de cuenta | Account number
Número de pasaporte | Passport number
Número de asiento | Seat number
Nombre de la calle | Street name / Name of the street
Lugar de nacimiento | Place of birth / Birthplace
Fecha de salida / Fecha de partida | Departure date / Date of departure
Hora de llegada | Arrival time / Time of arrival
Cambiar contraseña / Cambiar la contraseña / Cambia la contraseña | Change password / Change the password
Borrar mensaje / Borrar el mensaje / Eliminar mensaje | Delete message / Delete the message
Añadir imagen / Añadir una imagen / Añadir foto | Add image / Add an image / Add picture
Abrir archivo / Abrir el archivo / Abre el archivo | Open file / Open the file
Cerrar ventana / Cerrar la ventana / Cierra la ventana | Close window / Close the window
Página siguiente / Siguiente página | Next page
Página anterior | Previous page
Nuevo mensaje / Mensaje nuevo | New message
Nueva cuenta / Cuenta nueva | New account
Feliz aniversario | Happy anniversary
"""
"""Signs and labels of several words, with all that is right; the first of either side is what is asked."""


def read_checked(text: str = CHECKED) -> list[tuple[list[str], list[str]]]:
    """Give the forms of each sign, Spanish and English.

    >>> read_checked("Vino | Wine\nPiscina | Pool / Swimming pool")
    [(['Vino'], ['Wine']), (['Piscina'], ['Pool', 'Swimming pool'])]
    """
    rows = [[side.split(" / ") for side in line.split(" | ")] for line in text.split("\n") if line]
    return [(es, en) for es, en in rows]
